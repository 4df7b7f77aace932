"""The AWS emulator as local stacks run it: ``python -m taskgate.local.emulated``.

``python -m ministack``, but for two things: environments of one function share its unpacked code, and
calls under a role are recorded where the stack asks for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from taskgate.local.recording import RECORD, recorded
from taskgate.local.unpacking import share


def main() -> None:
    """Start the emulator; it serves until it is told to end."""
    from ministack import app as emulator  # noqa: PLC0415 - it starts threads when it is imported
    from ministack.core import lambda_runtime  # noqa: PLC0415
    from ministack.services import sts  # noqa: PLC0415

    def role_of(key: str) -> str:
        session = sts._sessions.get(key) or {}  # noqa: SLF001 - STS tells it only to the key's holder
        return str(session.get("Arn", "")).split("/")[-2]

    share(lambda_runtime)
    # Functions are given the emulator's own variables: this one is none of theirs.
    if record := os.environ.pop(RECORD, ""):
        emulator.app = recorded(emulator.app, Path(record), role_of)
    emulator.main()


if __name__ == "__main__":
    main()
