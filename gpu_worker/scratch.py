"""The folder under which a worker's files lie, and the clearing of what dead workers left."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

_PREFIX: Final = "taskgate-worker-"


class Scratch:
    """One folder a worker process, readable by its user only; one below it for each need."""

    def __init__(self, parent: Path) -> None:
        _clear_orphans(parent)
        self._base = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self._numbers = itertools.count(1)

    def folder(self, kind: str) -> Path:
        """A new, empty folder."""
        path = self._base / f"{kind}-{next(self._numbers)}"
        path.mkdir()
        return path

    def close(self) -> None:
        """Remove all of it."""
        remove(self._base)


def remove(folder: Path) -> None:
    """Remove a folder with all that a model put there."""
    shutil.rmtree(folder, ignore_errors=True)


def _clear_orphans(parent: Path) -> None:
    """A worker that was killed could not remove its files; they may be gigabytes."""
    for left in parent.glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            remove(left)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
