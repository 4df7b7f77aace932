"""The folder under which a process's files lie, and the clearing of what dead ones left."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Final, TextIO

_LOCK: Final = "lock"


class Scratch:
    """One folder a process, readable by its user only; one below it for each need.

    `mark` begins its name: those of the same mark whose processes are gone are removed first.
    """

    def __init__(self, parent: Path, mark: str) -> None:
        _clear_orphans(parent, mark)
        self.base = Path(tempfile.mkdtemp(prefix=mark, dir=parent))
        # Held as long as this process lives. A process id would not do: it is given anew, and
        # several containers that share the folder may each have a process 1.
        new = self.base / f"{_LOCK}.new"
        self._lock = new.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Only a lock that is held bears the name that others look for.
        new.rename(self.base / _LOCK)
        self._numbers = itertools.count(1)

    def folder(self, kind: str) -> Path:
        """A new, empty folder."""
        path = self.base / f"{kind}-{next(self._numbers)}"
        path.mkdir()
        return path

    def close(self) -> None:
        """Remove all of it."""
        remove(self.base)
        self._lock.close()


def remove(folder: Path) -> None:
    """Remove a folder with all that was put there."""
    shutil.rmtree(folder, ignore_errors=True)


def _clear_orphans(parent: Path, mark: str) -> None:
    """A process that was killed could not remove its files; they may be gigabytes."""
    for lock in parent.glob(f"{mark}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("r+") as file:
            _remove_if_free(file, lock.parent)


def _remove_if_free(lock: TextIO, folder: Path) -> None:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(folder)
