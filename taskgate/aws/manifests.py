"""A result's files in their task's item: what is known of the task is not spelled again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from taskgate.aws.values import Value, b, bytes_of, listed, n, s, text, whole
from taskgate.task import Owner, ResultFile

BESIDE: Final = "beside"
"""Other bytes lay where the file would have been: see `taskgate.gateway.work.storing`."""


def write_result(files: tuple[ResultFile, ...]) -> Value:
    return listed(listed(_file(f)) for f in files)


def _file(file: ResultFile) -> Iterator[Value]:
    """The key is spelled by owner, id and attempt: only the attempt is kept, and a sixth part when
    the file lies below its digest.
    """
    attempt, rest = file.key.split("/", 4)[3:]
    yield from (s(file.name), n(file.size), b(file.sha256), s(file.content_type), n(int(attempt)))
    if rest != file.name:
        yield s(BESIDE)


def read_result(value: Value, owner: Owner, task_id: str) -> tuple[ResultFile, ...]:
    """The files of that task's result, with their keys."""
    return tuple(_with_key(file, owner, task_id) for file in read_files(value))


def read_files(value: Value) -> tuple[ResultFile, ...]:
    """The files, each key by what is below the task only."""
    return tuple(_read_file(row["L"]) for row in value["L"])


def _read_file(row: list[Value]) -> ResultFile:
    name, size, digest, kind, attempt, *more = row
    beside = [text(part) for part in more[:1]] == [BESIDE]
    folder = f"{whole(attempt)}/{bytes_of(digest).hex()}" if beside else str(whole(attempt))
    key = f"{folder}/{text(name)}"
    return ResultFile(text(name), key, whole(size), bytes_of(digest), text(kind))


def _with_key(file: ResultFile, owner: Owner, task_id: str) -> ResultFile:
    key = f"r/{owner.tenant}/{task_id}/{file.key}"
    return ResultFile(file.name, key, file.size, file.sha256, file.content_type)
