"""``python -m taskgate.cli``."""

from taskgate.cli.main import main

main()
