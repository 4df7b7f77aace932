"""A function's code, unpacked once for all environments that run it.

The emulator starts an environment for each request of the same moment, and would unpack the code anew
for each: thousands of files, seconds of work, and minutes to remove them all at the end of a busy
stack. A function only reads its code, on AWS it can do nothing else, so all of them read one copy.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from taskgate.local.cdk import ROOT

UNPACKED: Final = ROOT / "build" / "unpacked"
KEPT: Final = 3


def share(runtime: Any, place: Path = UNPACKED) -> None:
    """Have the emulator's runtime of functions link to the one copy in `place`."""

    class Shared(zipfile.ZipFile):
        def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
            """Instead of the files, a link to them."""
            code = Path(path)
            code.rmdir()
            code.symlink_to(unpacked(Path(str(self.filename)), place), target_is_directory=True)

    runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": Shared})


def unpacked(archive: Path, place: Path) -> Path:
    """The folder with the archive's files; made by the first of all stacks that asks."""
    place.mkdir(parents=True, exist_ok=True)
    folder = place / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _unpack_into(folder, archive)
        os.utime(folder)
        _forget_older(place)
    return folder


def _unpack_into(folder: Path, archive: Path) -> None:
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with zipfile.ZipFile(archive) as files:
        files.extractall(unfinished)
    unfinished.rename(folder)


def _forget_older(place: Path) -> None:
    """Keeps those that were asked for last: other stacks may still run them."""
    folders = [path for path in place.iterdir() if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
