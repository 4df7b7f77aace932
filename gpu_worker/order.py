"""From a claimed task to the order for the child, or to the reason why it cannot be run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from gpu_worker.given_files import Fetch, with_files
from gpu_worker.protocol import Run
from taskgate.catalog import Catalog, TaskType
from taskgate.errors import UnknownTaskType
from taskgate.gateway.worker import Failure, Held
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

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
    held: Held, catalog: Catalog, number: int, folder: Path, fetch: Fetch
) -> tuple[Run, TaskType] | Failure:
    """The input is parsed again, since the type may have changed after the submit."""
    if held.input is None:
        return _INPUT_LOST
    try:
        task_type = catalog[held.task.type]
        task_input = task_type.input_model.model_validate_json(held.input)
    except UnknownTaskType:
        return _UNKNOWN_TYPE
    except ValidationError as error:
        return _unfit(error)
    values = with_files(task_input, folder, fetch)
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
    )
    return order, task_type


def _unfit(error: ValidationError) -> Failure:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "input"
    return Failure(ErrorCode.INVALID_INPUT, f"{where}: {first['msg']}", ErrorClass.PERMANENT)
