"""What the gateway knows, as frozen types. Its states may grow: an unknown one is kept as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from taskgate.client.errors import TaskCanceled, TaskEnded, TaskFailed, TaskTimedOut

SUCCEEDED: Final = "succeeded"
_BAD_ENDS: Final[Mapping[str, type[TaskEnded]]] = {
    "failed": TaskFailed,
    "timed_out": TaskTimedOut,
    "canceled": TaskCanceled,
}
ENDED: Final = frozenset({SUCCEEDED, *_BAD_ENDS})


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of a task. Times are aware, UTC."""

    at: datetime | None
    verb: str
    before: str | None
    to: str
    attempt: int
    actor: str
    reason: str
    folded: int
    """Entries before this one that are no longer kept."""


@dataclass(frozen=True, slots=True)
class TaskError:
    """Why a task ended badly, or why its last attempt did."""

    code: str
    message: str
    error_class: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file of a result. `url` is signed, and good for minutes only."""

    name: str
    size: int
    sha256: str
    content_type: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was uploaded, for inputs to refer to."""

    id: str
    size: int
    sha256: str
    content_type: str
    kept_until: datetime | None = None
    """It is there until then at least."""

    @property
    def ref(self) -> dict[str, str]:
        """What stands for it in a field of an input."""
        return {"upload": self.id}

    @property
    def whole(self) -> dict[str, str]:
        """What stands for it in the place of a whole input, when it is one in JSON."""
        return {"$upload": self.id}


@dataclass(frozen=True, slots=True)
class Result:
    """What a task brought: its files, and a small output of its own."""

    files: tuple[ResultFile, ...]
    output: Any = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt of a callback; `status` is None when there was no whole answer."""

    at: datetime | None
    status: int | None
    ms: int
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """Whom the end of a task is told to, and how that went."""

    url: str
    events: tuple[str, ...]
    state: str
    """waiting, pending, delivered, given_up or not_asked."""
    tries: int = 0
    next_try_at: datetime | None = None
    latest: tuple[Delivery, ...] = ()

    @property
    def delivered(self) -> bool:
        return self.state == "delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A cancel, and how far it has come: asked, seen by the worker, stopped."""

    mode: str
    asked_at: datetime | None = None
    asked_by: str = ""
    seen_at: datetime | None = None
    stopped_at: datetime | None = None
    enforced: bool = False
    """The gateway ended it, since no worker said in time that it had stopped."""
    kept_until: datetime | None = None
    """Until then your next identical submit is given what the run brought."""
    given_to: str | None = None
    """The task of yours that was given it: nothing is kept any more."""


@dataclass(frozen=True, slots=True)
class Child:
    """A task that follows; without a state it is not yet on record."""

    id: str
    type: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as its owner sees it."""

    id: str
    type: str = ""
    state: str = ""
    attempt: int = 0
    progress: float = 0.0
    stage: str = ""
    created_at: datetime | None = None
    run_at: datetime | None = None
    """When it is to start; None for at once."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: TaskError | None = None
    history: tuple[HistoryEntry, ...] = ()
    result: Result | None = None
    cancel: Cancel | None = None
    outcome: str | None = None
    """What a cancel came to, in its own answer: canceled, canceling or too_late."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    callback: Callback | None = None
    expired: bool = False
    """In a list: its time is over, and only its end is told of; to ask for it is `NotFound`."""
    parent: str | None = None
    """The task that it follows."""
    reused_from: str | None = None
    """It never ran: it was given what this task of yours had brought."""
    trace_id: str | None = None
    """The trace that it belongs to, for your tracing back end."""
    children: tuple[Child, ...] = ()
    """What follows it; known to `get` only."""
    chain: str | None = None
    """It and all that follows it together: running, succeeded, failed or canceled."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The answer as it came."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def succeeded(self) -> bool:
        return self.state == SUCCEEDED

    def at(self, look: Task) -> Task:
        """This task with what a later, light look saw of it."""
        return replace(
            self,
            state=look.state,
            attempt=look.attempt,
            progress=look.progress,
            stage=look.stage,
            raw={**self.raw, **look.raw},
        )

    def bad_end(self) -> TaskEnded | None:
        """The exception that a task which ended without a result is; None for any other."""
        kind = _BAD_ENDS.get(self.state)
        return kind(self) if kind else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task is where it is. Spans and counts are estimates, and say so."""

    id: str
    state: str
    why: str
    waits_for: str | None
    sentences: tuple[str, ...]
    """The whole story in plain words."""
    actions: tuple[str, ...]
    """What you may ask for now."""
    next_look_by: datetime | None
    next_limit: str | None
    next_limit_at: datetime | None
    worker: str | None
    last_sign_at: datetime | None
    """When its worker was last heard of."""
    waiting: int | None
    """About how many wait in its lane; None while it is in none."""
    owes: tuple[str, ...] = ()
    """What it owes, once it has ended: `follow_ups`, `clean_up`, `callback`."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The answer as it came."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A lane, and about how many messages wait in it."""

    lane: str
    pool: str
    priority: str
    waiting: int


@dataclass(frozen=True, slots=True)
class Pool:
    """How many workers of a pool do what."""

    pool: str
    idle: int
    busy: int
    draining: int
    lost: int


@dataclass(frozen=True, slots=True)
class Workers:
    """The pools, and to operators each worker, as the answer tells of it."""

    pools: tuple[Pool, ...]
    workers: tuple[Mapping[str, Any], ...] | None


@dataclass(frozen=True, slots=True)
class TaskType:
    """A kind of work that the gateway takes; `input_schema` is JSON Schema."""

    name: str
    title: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stats:
    """Your books. At any moment submitted = active + the four ended counts."""

    active: int
    submitted: int
    succeeded: int
    failed: int
    timed_out: int
    canceled: int
    mean_wait_seconds: float | None
    mean_run_seconds: float | None

    @property
    def balanced(self) -> bool:
        ended = self.succeeded + self.failed + self.timed_out + self.canceled
        return self.submitted == self.active + ended
