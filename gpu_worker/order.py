"""From a claimed task to the order for the child, or to the reason why it cannot be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from gpu_worker.given_files import with_files
from gpu_worker.protocol import Run
from taskgate.catalog import Catalog, TaskType
from taskgate.errors import InvalidInput, Unavailable
from taskgate.gateway.door.fetching import Files
from taskgate.gateway.work.worker import Failure, Held
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.uploads import whole_id

_UNKNOWN_TYPE: Final = Failure(
    # Not permanent: during a rolling deploy a newer worker knows it.
    ErrorCode.STARTUP_FAILED,
    "this worker does not know the task type",
    ErrorClass.TRANSIENT,
)
_INPUT_LOST: Final = Failure(
    ErrorCode.INPUT_LOST, "the record of this task has no input any more", ErrorClass.PERMANENT
)


def order_for(
    held: Held, catalog: Catalog, number: int, folder: Path, files: Files
) -> tuple[Run, TaskType] | Failure:
    """The input is parsed again, since the type may have changed after the submit.

    Raises `NotFetched` when the attempt ended meanwhile.
    """
    task_type = catalog.find(held.task.type)
    if task_type is None:
        return _UNKNOWN_TYPE
    values = _INPUT_LOST if held.input is None else _values(held.input, task_type, folder, files)
    if isinstance(values, Failure):
        return values
    order = Run(
        number=number,
        runner=task_type.runner,
        task_id=held.task.id,
        attempt=held.task.attempt,
        folder=str(folder),
        input=values,
        checkpoint=held.task.checkpoint,
        trace=held.task.trace_headers("run", held.task.attempt),
    )
    return order, task_type


def _values(kept: str, task_type: TaskType, folder: Path, files: Files) -> dict[str, Any] | Failure:
    try:
        task_input = task_type.input_model.model_validate_json(_text(kept, files))
        return with_files(task_input, folder, files)
    except ValidationError as error:
        return _unfit(error)
    except InvalidInput as error:
        return Failure(ErrorCode.INVALID_INPUT, str(error), ErrorClass.PERMANENT)
    except Unavailable as error:
        return Failure(ErrorCode.UPSTREAM_ERROR, str(error), ErrorClass.TRANSIENT)
    except OSError as error:
        # Such as a full disk: another worker may have room.
        message = f"a file of its input could not be kept: {error.strerror}"
        return Failure(ErrorCode.STARTUP_FAILED, message, ErrorClass.TRANSIENT)


def _text(kept: str, files: Files) -> str:
    """The input itself, or the one that was uploaded in its place."""
    upload_id = whole_id(kept)
    return kept if upload_id is None else files.whole(upload_id)


def _unfit(error: ValidationError) -> Failure:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "input"
    return Failure(ErrorCode.INVALID_INPUT, f"{where}: {first['msg']}", ErrorClass.PERMANENT)
