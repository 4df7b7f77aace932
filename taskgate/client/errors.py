"""What can go wrong for a caller, as a tree. A class's docstring is its message.

::

    ClientError
    ├── NotConfigured          no address, no key, or an address that is none
    ├── Unsendable             the request cannot be put into JSON and HTTP; nothing was sent
    ├── Unreachable            no answer, after all tries; carries the Idempotency-Key of a submit
    ├── Misunderstood          an answer, but not one of Taskgate's: is the address right?
    ├── ApiError               the gateway answered with a problem: `status`, `code`, `fields`
    │   ├── NotFound           404, or 410 when the task's retention is over
    │   ├── Refused            any other 4xx
    │   └── ServerError        5xx, after all tries
    ├── TaskEnded              the task ended without a result: `task`, `error`
    │   ├── TaskFailed
    │   ├── TaskTimedOut
    │   └── TaskCanceled
    ├── WaitTimeout            you stopped waiting, the task goes on: `task_id`, `task`
    ├── DownloadCorrupt        the bytes are not those that the task's manifest names
    └── UploadRefused          the bucket did not take the file: it is not the one that was announced
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskgate.client.models import Task, TaskError


class ClientError(Exception):
    """The request to Taskgate did not work out."""

    task_id: str | None = None
    """The task that it was about, if one is known to be on record."""
    idempotency_key: str | None = None
    """Of a submit that was not answered: sent again with it, you get the task that it may have made."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class NotConfigured(ClientError):
    """The gateway's address or the API key is missing or malformed."""


class Unsendable(ClientError):
    """The request cannot be put into JSON and HTTP; nothing was sent."""


class Misunderstood(ClientError):
    """The answer is not one of Taskgate's."""


class Unreachable(ClientError):
    """The gateway did not answer."""

    def __init__(self, message: str, *, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that is wrong, as the gateway names it."""

    field: str
    message: str


class ApiError(ClientError):
    """The gateway answered with a problem."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        fields: tuple[FieldProblem, ...] = (),
        retry_after: float | None = None,
        request_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(_in_full(message, fields))
        self.status, self.code, self.fields = status, code, fields
        self.retry_after = retry_after
        """Seconds after which the gateway asked to try again; None when it did not say."""
        self.request_id = request_id
        """What the gateway's operators find the request by."""
        self.idempotency_key = idempotency_key


def _in_full(message: str, fields: tuple[FieldProblem, ...]) -> str:
    # A field whose message is the error's own would say it twice.
    told = "; ".join(f"{f.field}: {f.message}" for f in fields if f.message != message)
    return f"{message} {told}" if told else message


class NotFound(ApiError):
    """There is no such task, or it is not yours, or its retention is over."""


class Refused(ApiError):
    """The request cannot be served as it is."""


class ServerError(ApiError):
    """The gateway could not serve the request just now."""


class TaskEnded(ClientError):
    """The task ended without a result."""

    def __init__(self, task: Task) -> None:
        said = f": {task.error.code}: {task.error.message}" if task.error else "."
        super().__init__(f"{task.id} ended as {task.state}{said}")
        self.task, self.task_id = task, task.id

    @property
    def error(self) -> TaskError | None:
        """Why, in the gateway's words."""
        return self.task.error


class TaskFailed(TaskEnded):
    """The task failed."""


class TaskTimedOut(TaskEnded):
    """One of the task's time limits ran out."""


class TaskCanceled(TaskEnded):
    """The task was canceled."""


class WaitTimeout(ClientError):
    """You stopped waiting; the task goes on, and its id finds it again."""

    def __init__(
        self, task_id: str, seconds: float, task: Task | None, failed: ClientError | None = None
    ) -> None:
        state = f"is {task.state}" if task else "was not seen"
        told = f" The last look failed: {failed}" if failed else ""
        super().__init__(f"{task_id} {state} after {seconds:g} s of waiting; it goes on.{told}")
        self.task_id, self.task = task_id, task


class DownloadCorrupt(ClientError):
    """The bytes that came are not those that the task's manifest names."""

    def __init__(self, name: str, expected: str, got: str) -> None:
        super().__init__(f"{name} has sha256 {got}, the task's manifest says {expected}.")
        self.name = name


class UploadRefused(ClientError):
    """The bucket did not take the file."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"The bucket refused the file with HTTP {status}: {said[:300]}")
        self.status = status
