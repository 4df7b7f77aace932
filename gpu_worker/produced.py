"""The files that a child says its run made, looked at before a byte of them is read.

What a run is given may take its process over: a parser meets hostile documents there. The supervisor
reads and uploads with rights that the child lacks, so it reads nothing but plain files of the attempt.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from taskgate.gateway.work.worker import Failure, Produced
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
CONTENT_TYPE: Final = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,99}")
MAX_FILES: Final = 20


def produced(told: Sequence[Sequence[Any]], folder: Path) -> tuple[Produced, ...] | Failure:
    """The files as told, or why they are not taken."""
    if len(told) > MAX_FILES:
        return _refused(f"a task has at most {MAX_FILES} result files")
    for name, path, kind in told:
        if problem := _problem(name, path, kind, folder):
            return _refused(problem)
    return tuple(Produced(*file) for file in told)


def _problem(name: Any, path: Any, kind: Any, folder: Path) -> str | None:
    if not (isinstance(name, str) and FILE_NAME.fullmatch(name)):
        return f"{name!r} is no plain file name"
    if not (isinstance(kind, str) and CONTENT_TYPE.fullmatch(kind)):
        return f"the content type of {name} is not 1 to 100 printable ASCII characters"
    if path != str(folder / name):
        return f"{name} is not in the folder of the attempt"
    try:
        # Of the file itself: a link leads to what the supervisor may read and the run may not.
        plain = stat.S_ISREG((folder / name).lstat().st_mode)
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return None if plain else f"{name} is not a plain file; a link is not followed"


def _refused(problem: str) -> Failure:
    return Failure(ErrorCode.MODEL_ERROR, problem, ErrorClass.PERMANENT)
