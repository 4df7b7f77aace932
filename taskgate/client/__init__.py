"""The Python SDK: Taskgate over HTTP.

::

    from taskgate.client import Taskgate

    with Taskgate() as taskgate:  # TASKGATE_URL and TASKGATE_API_KEY
        task = taskgate.submit("text_to_image", {"prompt": "a lighthouse"})
        print(task.id)  # keep it: it finds the task again, whatever happens here
        task.wait(timeout=300)
        task.download("out")
"""

from __future__ import annotations

from taskgate.client.backoff import Backoff
from taskgate.client.callbacks import FollowUp
from taskgate.client.errors import (
    ApiError,
    ClientError,
    DownloadCorrupt,
    FieldProblem,
    Misunderstood,
    NotConfigured,
    NotFound,
    Refused,
    ServerError,
    TaskCanceled,
    TaskEnded,
    TaskFailed,
    TaskTimedOut,
    Unreachable,
    Unsendable,
    UploadRefused,
    WaitTimeout,
)
from taskgate.client.handle import TaskHandle
from taskgate.client.models import (
    Callback,
    Cancel,
    Child,
    Delivery,
    Explanation,
    HistoryEntry,
    Pool,
    Queue,
    Result,
    ResultFile,
    Stats,
    Task,
    TaskError,
    TaskType,
    Upload,
    Workers,
)
from taskgate.client.taskgate import Taskgate
from taskgate.client.watching import Clock
from taskgate.webhooks import WebhookError, verify

__all__ = [
    "ApiError",
    "Backoff",
    "Callback",
    "Cancel",
    "Child",
    "ClientError",
    "Clock",
    "Delivery",
    "DownloadCorrupt",
    "Explanation",
    "FieldProblem",
    "FollowUp",
    "HistoryEntry",
    "Misunderstood",
    "NotConfigured",
    "NotFound",
    "Pool",
    "Queue",
    "Refused",
    "Result",
    "ResultFile",
    "ServerError",
    "Stats",
    "Task",
    "TaskCanceled",
    "TaskEnded",
    "TaskError",
    "TaskFailed",
    "TaskHandle",
    "TaskTimedOut",
    "TaskType",
    "Taskgate",
    "Unreachable",
    "Unsendable",
    "Upload",
    "UploadRefused",
    "WaitTimeout",
    "WebhookError",
    "Workers",
    "verify",
]
