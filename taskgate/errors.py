"""The error tree. A class's docstring is its message, so each error is explained once.

::

    TaskgateError
    ├── BadSetting                a setting is missing or outside its bounds
    ├── Refused                   a guarded write found something else; carries what it found
    │   └── LeaseLost             ... found that the attempt is no longer ours
    ├── IllegalTransition         a verb was asked of a state that does not know it
    ├── Unavailable               a store could not answer just now; nothing is known to have changed
    └── Problem                   the caller's request cannot be served (api/problems.py maps it)
        ├── InvalidRequest
        │   ├── UnknownTaskType
        │   ├── InvalidInput
        │   └── BadCursor
        ├── NotAuthorized
        ├── TaskNotFound
        ├── ResultNotReady
        ├── IdempotencyKeyReused
        └── TooManyPendingTasks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from taskgate.task import Task


class TaskgateError(Exception):
    """Something went wrong in Taskgate."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class BadSetting(TaskgateError):
    """A setting is missing or outside its bounds."""

    def __init__(self, name: str, value: object, bound: str) -> None:
        super().__init__(f"{name} is {value!r}; it must be {bound}.")
        self.name = name


class Refused(TaskgateError):
    """The guarded write was refused: the task is no longer what the change demands."""

    def __init__(self, current: Task | None, message: str | None = None) -> None:
        super().__init__(message)
        self.current = current
        """The task as the store holds it, or None when there is none."""


class LeaseLost(Refused):
    """This attempt no longer holds the task; stop, and write nothing more."""


class IllegalTransition(TaskgateError):
    """The state does not know this verb."""

    def __init__(self, verb: str, state: str) -> None:
        super().__init__(f"A task that is {state} cannot {verb.replace('_', ' ')}.")
        self.verb, self.state = verb, state


class Unavailable(TaskgateError):
    """The store is busy or out of reach; nothing is known to have changed. Try again."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that is wrong: where it stands, what is wrong, and the bound if there is one."""

    field: str
    message: str


class Problem(TaskgateError):
    """The request cannot be served."""

    code: ClassVar[str] = "problem"
    status: ClassVar[int] = 400

    def __init__(self, message: str | None = None, *, fields: Sequence[FieldProblem] = ()) -> None:
        super().__init__(message)
        self.fields = tuple(fields)


class InvalidRequest(Problem):
    """The request is not of the form that this route takes."""

    code, status = "invalid_request", 422


class MalformedJson(InvalidRequest):
    """The body is not strict JSON."""

    code, status = "malformed_json", 400


class BodyTooLarge(InvalidRequest):
    """The body is over the limit."""

    code, status = "body_too_large", 413


class UnknownTaskType(InvalidRequest):
    """No such task type; GET /v1/task-types lists them."""

    code = "unknown_task_type"


class InvalidInput(InvalidRequest):
    """The input does not fit the task type's schema."""

    code = "invalid_input"


class BadCursor(InvalidRequest):
    """The cursor is not one that this list gave to this caller."""

    code, status = "bad_cursor", 400


class Unauthenticated(Problem):
    """The API key is missing, unknown, expired or revoked."""

    code, status = "unauthenticated", 401


class MissingScope(Problem):
    """The API key lacks the scope that this route demands."""

    code, status = "missing_scope", 403


class TaskNotFound(Problem):
    """There is no such task."""

    code, status = "task_not_found", 404


class ResultNotReady(Problem):
    """The task has no result, or not yet."""

    code, status = "result_not_ready", 409


class VerbNotAllowed(Problem):
    """The task's state does not allow this."""

    code, status = "verb_not_allowed", 409


class IdempotencyKeyReused(Problem):
    """The Idempotency-Key was used before, with another request."""

    code, status = "idempotency_key_reused", 422


class TooManyPendingTasks(Problem):
    """You have as many unfinished tasks as your plan allows."""

    code, status = "too_many_pending_tasks", 429
