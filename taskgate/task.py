"""The task as every room sees it: frozen; it changes only by a `Change` from `lifecycle`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from taskgate.lifecycle.history import Entry
from taskgate.lifecycle.retry import Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.tracing import Trace, own, span_id


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Whose task it is. Neither part holds ``#`` or ``/`` (the principal's parser sees to it)."""

    tenant: str
    user: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.user}"

    @classmethod
    def parse(cls, text: str) -> Owner:
        tenant, _, user = text.partition("#")
        return cls(tenant, user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The times that a task lives by, milliseconds, resolved at submit and kept on the task.

    They are stored, not looked up, so that a deploy that changes a type's defaults cannot change
    the promise made to a task that was accepted before.
    """

    queue_timeout: int
    run_timeout: int
    max_run: int
    deadline: int
    redeliver_after: int
    max_redeliveries: int
    lease: int
    send_check: int
    stall_grace: int
    cancel_grace: int


class CancelMode(StrEnum):
    """`soft` lets the run go on and keeps its result from the caller; `hard` stops the child."""

    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A cancel, and how far it has come: asked for, seen by the worker, stopped."""

    mode: CancelMode
    code: ErrorCode
    at: int
    """When it was asked for."""
    by: str = ""
    """Who asked."""
    seen_at: int | None = None
    """When the worker had the word; None while it runs (its pulse knows), or if none ever had it."""
    stopped_at: int | None = None
    """When nothing computed the task any more."""
    enforced: bool = False
    """No worker said that it stopped: the grace was over, and a late one is refused."""


@dataclass(frozen=True, slots=True)
class TaskError:
    """Why a task ended badly, or why its last attempt did."""

    code: ErrorCode
    message: str
    error_class: ErrorClass
    details: str = ""

    @property
    def retryable(self) -> bool:
        return self.error_class is not ErrorClass.PERMANENT


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file of a result: `key` in the bucket, `size` in bytes, `sha256` as 32 raw bytes."""

    name: str
    key: str
    size: int
    sha256: bytes
    content_type: str


class Duty(StrEnum):
    """What an ended task may still owe, in the order in which it is settled."""

    FOLLOW_UPS = "follow_ups"
    CLEAN_UP = "clean_up"
    CALLBACK = "callback"
    SALVAGE = "salvage"
    """Once nobody may have it any more, the result of a soft-cancelled run is removed."""


class CallbackState(StrEnum):
    """What became of the callback."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt of a callback. `status` is None when there was no answer; `ms` its duration."""

    at: int
    status: int | None
    ms: int
    reason: str
    detail: str = ""
    """More about the reason, in few words of ours or of the TLS library."""


@dataclass(frozen=True, slots=True)
class Callback:
    """Whom to tell of the end, of which events, and how that went."""

    url: str
    events: tuple[str, ...]
    state: CallbackState = CallbackState.PENDING
    tries: int = 0
    """Attempts in all."""
    schedule: int = 0
    """Attempts since the schedule was last begun."""
    latest: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One accepted request. Times are epoch milliseconds, UTC."""

    id: str
    owner: Owner
    type: str
    lane: str
    state: State
    created_at: int
    since: int
    """When the present state was entered."""
    deadline_at: int
    limits: Limits
    version: int = 0
    op_id: str = ""
    attempt: int = 0
    generation: int = 0
    due_at: int | None = None
    queued_at: int | None = None
    sent_at: int | None = None
    """The last time a message for it was sent."""
    sends: int = 0
    """Messages sent again for the present stay in the lane."""
    resent_in: int | None = None
    """The generation in which a dead message was answered by a fresh one; the next ends it."""
    resent_for: str | None = None
    """Which dead message that was: it may be delivered twice, and is then no second one."""
    started_at: int | None = None
    ended_at: int | None = None
    run_at: int | None = None
    not_before: int | None = None
    resume_at: int | None = None
    budgets: Budgets = field(default_factory=Budgets)
    worker: str | None = None
    error: TaskError | None = None
    cancel: CancelRequest | None = None
    result: tuple[ResultFile, ...] = ()
    output: str | None = None
    """The runner's small output, a JSON text."""
    checkpoint: str | None = None
    metadata: str | None = None
    """The caller's own labels, a JSON text."""
    callback: Callback | None = None
    follow_ups: int = 0
    """How many tasks follow when it has ended; what they are stands in an item of its own."""
    max_processing: int | None = None
    """So many tasks of the tenant run at the same time: the plan's cap when it was submitted."""
    ledger_shard: int = 0
    """In which shard of its owner's ledger it is booked, for all its life: plans change."""
    uploads_until: int | None = None
    """It must have ended by then: what it or its follow-ups read of uploads may be gone later."""
    parent: str | None = None
    """The task that it follows."""
    kept_until: int | None = None
    """It was canceled softly, and its result is kept so long for its owner's next same submit."""
    given_to: str | None = None
    """What was kept of it has been given to this task of its owner, and is kept no more."""
    reused_from: str | None = None
    """It was given the result of this task of the same owner, and never ran."""
    given_trace: Trace | None = None
    """The trace of who asked for it; None when that began none."""
    owes: tuple[Duty, ...] = ()
    """Once ended: what is not settled yet."""
    owed_at: int | None = None
    """When somebody must next see to what it owes."""
    history: tuple[Entry, ...] = ()

    @property
    def salvaged(self) -> bool:
        """Whether its result was kept, although it was canceled: it still is, or was given away."""
        return self.kept_until is not None or self.given_to is not None

    @property
    def trace(self) -> Trace:
        """The trace that it belongs to: its caller's, or one of its own."""
        return self.given_trace or own(self.id)

    def trace_headers(self, *what: str | int) -> dict[str, str]:
        """The trace's headers for what is called while that is done (see `tracing.span_id`)."""
        return self.trace.headers(span_id(self.id, *what))

    @property
    def run_ends_at(self) -> int:
        """When the present run must be over."""
        return min((self.started_at or self.since) + self.limits.run_timeout, self.deadline_at)

    @property
    def queue_ends_at(self) -> int:
        """When waiting for a worker ends in `queue_timeout`."""
        return min((self.queued_at or self.since) + self.limits.queue_timeout, self.deadline_at)
