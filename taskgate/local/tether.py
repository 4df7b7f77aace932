"""Runs a module that ends when its parent does: ``python -m taskgate.local.tether <module>``.

The parent holds the other end of standard input. When it closes, even by ``kill -9`` of the
parent, the module gets SIGTERM, so that no emulator and no worker is ever left behind.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Run the module named on the command line as if by ``python -m``."""
    module = sys.argv.pop(1)
    threading.Thread(target=_end_with_parent, daemon=True, name="tether").start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
