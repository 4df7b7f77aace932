"""The body of a callback: built once, kept, signed and sent as the same bytes ever after."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from taskgate import stored_json
from taskgate.lifecycle.duties import ANNOUNCED
from taskgate.task import ResultFile, Task, TaskError

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def message_id(task: Task) -> str:
    """Stable over all attempts of one end; a reopened task's next end has another."""
    return f"msg_{task.id.removeprefix('task_')}_{task.generation}"


def body(task: Task) -> str:
    """`{type, timestamp, data}` as a JSON text: ids, the end and the manifest, never the input."""
    event = {
        "type": ANNOUNCED[task.state],
        "timestamp": rfc3339(task.ended_at or task.since),
        "data": told(task),
    }
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def told(task: Task) -> dict[str, Any]:
    """What a receiver learns of the task."""
    return {
        "id": task.id,
        "type": task.type,
        "state": task.state.value,
        "generation": task.generation,
        "attempt": task.attempt,
        "parent": task.parent,
        "reused_from": task.reused_from,
        "created_at": rfc3339(task.created_at),
        "started_at": rfc3339(task.started_at) if task.started_at else None,
        "ended_at": rfc3339(task.ended_at or task.since),
        "error": _error(task.error) if task.error else None,
        "result": [_file(file) for file in task.result],
        "output": stored_json.loaded(task.output) if task.output else None,
        "metadata": stored_json.loaded(task.metadata) if task.metadata else {},
    }


def rfc3339(ms: int) -> str:
    """Epoch ms as UTC with Z, to the millisecond."""
    at = EPOCH + timedelta(milliseconds=ms)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error(error: TaskError) -> dict[str, Any]:
    return {
        "code": error.code.value,
        "message": error.message,
        "class": error.error_class.value,
        "retryable": error.retryable,
    }


def _file(file: ResultFile) -> dict[str, Any]:
    return {
        "name": file.name,
        "size": file.size,
        "sha256": file.sha256.hex(),
        "content_type": file.content_type,
    }
