"""The files that an input refers to: fetched before the run, so that a runner finds them on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from taskgate.catalog.tasktype import FileRef, TaskInput
from taskgate.errors import InvalidInput, Unavailable
from taskgate.gateway.worker import Failure
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

Fetch = Callable[[str, str, str], None]
"""`(task, file, path)`: download one file of another task of the same owner."""

PATH: Final = "path"


def with_files(task_input: TaskInput, folder: Path, fetch: Fetch) -> dict[str, Any] | Failure:
    """The input as the runner gets it: each reference with the `path` where its file lies now."""
    values: dict[str, Any] = task_input.model_dump(mode="json")
    try:
        for name, reference in _references(task_input):
            path = folder / f"given-{name}"
            fetch(reference.task, reference.file, str(path))
            values[name][PATH] = str(path)
    except InvalidInput as error:
        return Failure(ErrorCode.INVALID_INPUT, str(error), ErrorClass.PERMANENT)
    except Unavailable as error:
        return Failure(ErrorCode.UPSTREAM_ERROR, str(error), ErrorClass.TRANSIENT)
    return values


def _references(task_input: TaskInput) -> list[tuple[str, FileRef]]:
    fields = ((name, getattr(task_input, name)) for name in type(task_input).model_fields)
    return [(name, value) for name, value in fields if isinstance(value, FileRef)]
