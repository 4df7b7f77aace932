"""Whether this worker is ready and moves on: a file that its loop keeps fresh, and who looks at it.

``python -m gpu_worker.health`` is the container's health check. The file appears with the first child
whose runners are set up, so a worker that still loads its models is not healthy yet; and it ages when
the supervisor's loop stands still, which no beat of another thread can hide. Loading the models again
after a child died counts as moving on: that has a limit of its own.

This module imports nothing of ours: the check runs twice a minute.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "TASKGATE_HEALTH_FILE"
STILL: Final = 300
"""Seconds. Longer than any one call of the loop may take: a silent poll ends the process before."""
_TOUCH_EVERY: Final = 5.0


class Health:
    """The worker's side. Without a file (`path` is None) nothing is done."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._ready, self._next = path, False, 0.0

    def start(self) -> None:
        """Nothing is ready, whatever an earlier process left here."""
        if self._path:
            self._path.unlink(missing_ok=True)

    def ready(self) -> None:
        """The runners are set up: tasks may come."""
        self._ready = True
        self.moves()

    def moves(self) -> None:
        """The loop has come round again. Cheap enough for every turn."""
        if self._path and self._ready and time.monotonic() >= self._next:
            self._path.touch()
            self._next = time.monotonic() + _TOUCH_EVERY

    close = start


def problem(environ: Mapping[str, str], now: float) -> str | None:
    """What is wrong with the worker of this environment, or None."""
    path = environ.get(VARIABLE)
    if not path:
        return f"{VARIABLE} is not set: the worker keeps no file to look at"
    try:
        age = now - os.stat(path).st_mtime  # noqa: PTH116 - pathlib would double the check's cost
    except FileNotFoundError:
        return "not ready: the models are not loaded yet"
    return f"stands still for {age:.0f} s" if age > STILL else None


def main() -> int:
    """0 when healthy; 1, and why, when not."""
    found = problem(os.environ, time.time())
    if found:
        sys.stderr.write(f"{found}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
