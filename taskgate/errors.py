"""The error tree. A class's docstring is its message, so each error is explained once.

::

    TaskgateError
    ├── BadSetting                a setting is missing or outside its bounds
    ├── Refused                   a guarded write found something else; carries what it found
    │   └── LeaseLost             ... found that the attempt is no longer ours
    ├── IllegalTransition         a verb was asked of a state that does not know it
    ├── IdTaken                   a new record's id is on record already
    ├── Unavailable               a store could not answer just now; nothing is known to have changed
    └── Problem                   the caller's request cannot be served (functions/http/problems.py maps it)
        ├── InvalidRequest
        │   ├── MalformedJson
        │   │   ├── EmptyBody, NotAnObject
        │   │   └── DuplicateKey, LoneSurrogate, NestedTooDeep, InexactNumber
        │   ├── BodyTooLarge
        │   ├── UnknownTaskType
        │   ├── InvalidInput
        │   ├── BadIdempotencyKey, BadOnBehalfOf
        │   └── BadCursor
        ├── Unauthenticated
        │   └── ExpiredKey
        ├── MissingScope
        ├── TaskNotFound, ResultFileNotFound, UnknownKey, LedgerNotFound, NoPlanName
        ├── ResultNotReady, VerbNotAllowed, NoCallback, KeyEnded, PlanMoved
        ├── IdempotencyKeyReused
        ├── PriorityNotAllowed
        ├── TooManyPendingTasks, RateLimited, LaneFull
        ├── IntakePaused, TypePaused
        └── BulkNotFound, BadConfirmToken
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


class IdTaken(TaskgateError):
    """There is a record of this id already; nothing was written."""


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
    retry_after: int | None = None
    """Seconds after which the same request may well be served; None when it will not be."""
    field: ClassVar[str | None] = None
    """The one field that this problem is always about."""

    def __init__(self, message: str | None = None, *, fields: Sequence[FieldProblem] = ()) -> None:
        super().__init__(message)
        own = (FieldProblem(self.field, str(self)),) if self.field else ()
        self.fields = tuple(fields) or own


class InvalidRequest(Problem):
    """The request is not of the form that this route takes."""

    code, status = "invalid_request", 422


class MalformedJson(InvalidRequest):
    """The body is not strict JSON."""

    code, status = "malformed_json", 400


class EmptyBody(MalformedJson):
    """The body is empty; it must be a JSON object."""

    code = "empty_body"


class DuplicateKey(MalformedJson):
    """A key stands more than once in one JSON object, so it is not clear what is meant."""

    code = "duplicate_key"


class LoneSurrogate(MalformedJson):
    """A text holds half of a surrogate pair, which is no character."""

    code = "lone_surrogate"


class NestedTooDeep(MalformedJson):
    """The body nests too deep."""

    code = "nested_too_deep"


class NotAnObject(MalformedJson):
    """The body is JSON, but not an object."""

    code, status = "not_an_object", 422


class InexactNumber(MalformedJson):
    """A number is larger or finer than the worker's numbers, and would arrive as another."""

    code, status = "inexact_number", 422


class BodyTooLarge(InvalidRequest):
    """The body is over the limit."""

    code, status = "body_too_large", 413


class UnknownTaskType(InvalidRequest):
    """No such task type; GET /v1/task-types lists them."""

    code, field = "unknown_task_type", "type"


class InvalidInput(InvalidRequest):
    """The input does not fit the task type's schema."""

    code = "invalid_input"


class BadIdempotencyKey(InvalidRequest):
    """The Idempotency-Key is not 1 to 255 visible ASCII characters."""

    code, field = "bad_idempotency_key", "Idempotency-Key"


class BadOnBehalfOf(InvalidRequest):
    """Taskgate-On-Behalf-Of is no user's name: 1 to 64 letters, digits, dots, dashes, _ or @."""

    code, field = "bad_on_behalf_of", "Taskgate-On-Behalf-Of"


class BadCursor(InvalidRequest):
    """The cursor is not one that this list gave to this caller."""

    code, field = "bad_cursor", "cursor"


class Unauthenticated(Problem):
    """The API key is missing, unknown or revoked."""

    code, status = "unauthenticated", 401


class ExpiredKey(Unauthenticated):
    """The API key has expired."""

    code = "expired_key"


class MissingScope(Problem):
    """The API key lacks the scope that this route demands."""

    code, status = "missing_scope", 403


class TaskNotFound(Problem):
    """There is no such task."""

    code, status = "task_not_found", 404


class ResultFileNotFound(Problem):
    """The task's result has no file of this name."""

    code, status, field = "result_file_not_found", 404, "file"


class ResultNotReady(Problem):
    """The task has no result, or not yet."""

    code, status = "result_not_ready", 409

    def __init__(self, state: str) -> None:
        super().__init__(f"The task is {state}; only a task that succeeded has a result.")
        self.state = state


class ResultExpired(Problem):
    """The result was kept for its time and is gone."""

    code, status = "result_expired", 410


class TaskExpired(Problem):
    """The task ended long ago; only its end is still known."""

    code, status = "task_expired", 410

    def __init__(self, state: str, ended: str) -> None:
        super().__init__(f"The task {state.replace('_', ' ')} at {ended}; the rest is not kept.")
        self.state, self.ended = state, ended


class UnknownKey(Problem):
    """There is no such API key."""

    code, status = "key_not_found", 404


class KeyEnded(Problem):
    """The API key is revoked or has expired."""

    code, status = "key_ended", 409


class NoPlanName(Problem):
    """No plan can have this name: 1 to 64 letters, digits, dots, dashes, _ or @."""

    code, status = "no_plan_name", 404


class PlanMoved(Problem):
    """Somebody else set this plan at the same time. Look at it, then set it again."""

    code, status = "plan_moved", 409


class LedgerNotFound(Problem):
    """Nothing was ever submitted for this user."""

    code, status = "ledger_not_found", 404


class NoCallback(Problem):
    """The task was submitted without a callback_url."""

    code, status = "no_callback", 409


class VerbNotAllowed(Problem):
    """The task's state does not allow this."""

    code, status = "verb_not_allowed", 409

    def __init__(self, message: str | None = None, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        """The task's state, where it is known to be the reason."""


class IdempotencyKeyReused(Problem):
    """The Idempotency-Key was used before, with another request."""

    code, status, field = "idempotency_key_reused", 422, "Idempotency-Key"


class TooManyPendingTasks(Problem):
    """You have as many unfinished tasks as your plan allows."""

    code, status, retry_after = "too_many_pending_tasks", 429, 10


class PriorityNotAllowed(Problem):
    """Your plan does not allow this priority."""

    code, status, field = "priority_not_allowed", 403, "priority"


class RateLimited(Problem):
    """You submit faster than your plan allows."""

    code, status, retry_after = "rate_limited", 429, 1

    def __init__(self, message: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LaneFull(Problem):
    """So many tasks wait in this lane already that no more are taken for a while."""

    # 429 and not 503: nothing is broken, and nobody needs to be called.
    code, status, retry_after = "lane_full", 429, 30


class IntakePaused(Problem):
    """An operator has paused the intake: no task is accepted for now."""

    code, status, retry_after = "intake_paused", 503, 60

    def __init__(self, message: str | None = None, retry_after: int = 60) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TypePaused(IntakePaused):
    """An operator has paused this task type: no task of it is accepted for now."""

    code = "type_paused"


class BulkNotFound(Problem):
    """There is no such bulk act."""

    code, status = "bulk_not_found", 404


class BadConfirmToken(Problem):
    """The token does not confirm this: it is another plan's, another operator's, or too old."""

    code, status, field = "bad_confirm_token", 409, "token"
