"""The files that an input refers to: fetched before the run, so that a runner finds them on disk."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any, Final

from taskgate.catalog.references import Place, UploadRef, references
from taskgate.catalog.tasktype import FileRef, TaskInput
from taskgate.gateway.door.fetching import Files

PATH: Final = "path"


def with_files(task_input: TaskInput, folder: Path, files: Files) -> dict[str, Any]:
    """The input as the runner gets it: each reference with the `path` where its file lies now.

    Raises what `files` raises, and `OSError`.
    """
    values: dict[str, Any] = task_input.model_dump(mode="json")
    for number, (place, reference) in enumerate(references(task_input)):
        path = folder / f"given-{number}"
        told = _fetched(reference, str(path), files)
        _at(values, place).update({PATH: str(path), **told})
    return values


def _fetched(reference: FileRef | UploadRef, path: str, files: Files) -> dict[str, str]:
    if isinstance(reference, FileRef):
        files.result(reference.task, reference.file, path)
        return {}
    stored = files.upload(reference.upload, path)
    return {"content_type": stored.content_type, "name": stored.name}


def _at(values: dict[str, Any], place: Place) -> dict[str, Any]:
    found: dict[str, Any] = reduce(lambda inner, step: inner[step], place, values)  # type: ignore[index]
    return found
