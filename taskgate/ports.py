"""What the gateway needs from outside, as protocols. `aws/` and `testing/` both fill them in.

Every method may raise `Unavailable`: throttled, busy or out of reach after the client's own tries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from taskgate.bulks import BulkStore
from taskgate.lifecycle.change import Change
from taskgate.messages import Delivery, Message
from taskgate.pages import Page
from taskgate.pulses import Pulse, Pulses, Seen, Signal
from taskgate.receivers import Receivers
from taskgate.results import Results
from taskgate.roster import Roster
from taskgate.salvage import Reuse, Salvage
from taskgate.shards import room_in
from taskgate.slots import Slots
from taskgate.spreads import Spreads
from taskgate.switches import SwitchStore
from taskgate.task import Owner, Task

__all__ = [
    "Delivery",
    "Due",
    "Errands",
    "IdempotencyKey",
    "Lanes",
    "Ledger",
    "Message",
    "Now",
    "Page",
    "Ports",
    "Problem",
    "Pulse",
    "Pulses",
    "Rates",
    "Receivers",
    "Replay",
    "Results",
    "Reuse",
    "Salvage",
    "Seen",
    "Signal",
    "Slots",
    "Submission",
    "TaskStore",
]


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The caller's key and what it stands for; `fingerprint` covers the whole request."""

    key: str
    fingerprint: str
    expires_at: int
    """Epoch seconds. A record past it counts as absent, whether it is still stored or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """All that one accepted request writes, in one transaction.

    Of a task that has ended as it is put on record the ledger counts both, submit and end.
    """

    task: Task
    input: str
    """The validated input, a JSON text."""
    idempotency: IdempotencyKey | None
    max_pending: int
    """Of all the shards of the owner's ledger together."""
    ledger_shards: int = 1
    """In so many the user's new tasks are booked, this one in `task.ledger_shard`."""
    then: str | None = None
    """What follows the task, a JSON text."""
    reuse: Reuse | None = None
    """A kept result would be taken instead of a run."""
    takes: Salvage | None = None
    """The task has ended at once with this result: it must still be there, and goes if it is given
    once only."""

    @property
    def room(self) -> int:
        """So many may be unfinished in the task's shard of the ledger, this one included."""
        return room_in(self.max_pending, self.ledger_shards, self.task.ledger_shard)


@dataclass(frozen=True, slots=True)
class Replay:
    """The key was used before: for which task, and with which request."""

    task_id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """One user's books. At any moment submitted = |active| + the four ended counts."""

    active: frozenset[str] = frozenset()
    submitted: int = 0
    succeeded: int = 0
    failed: int = 0
    timed_out: int = 0
    canceled: int = 0
    wait_ms: int = 0
    run_ms: int = 0

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.timed_out + self.canceled

    @property
    def balanced(self) -> bool:
        return self.submitted == len(self.active) + self.ended


@dataclass(frozen=True, slots=True)
class Due:
    """An entry of the clock index: a hint, to be read again before anything is done."""

    task_id: str
    due_at: int


@dataclass(frozen=True, slots=True)
class Problem:
    """An entry of the problem index: a hint, like `Due`."""

    task_id: str
    ended_at: int


class TaskStore(Protocol):
    """The records. Every write is guarded; a refusal brings the current task back."""

    def create(self, submission: Submission) -> Replay | Salvage | None:
        """Write a new task with all that belongs to it; a `Replay` when the key was used.

        A `Salvage` says that there is a result to reuse, and that nothing was written. Raises
        `TooManyPendingTasks` when the task's shard of the ledger is full, `Refused` when what it
        takes is gone.
        """

    def find_replay(self, owner: Owner, key: str) -> Replay | None:
        """What the user's idempotency key stands for, read consistently; None when it is fresh."""

    def apply(self, change: Change) -> Task:
        """Do what the change says, or raise `Refused` with the current task.

        A lost answer is not a refusal: a task that bears our `op_id` was changed by us.
        """

    def get(self, task_id: str) -> Task | None:
        """The task, read consistently."""

    def get_with_pulse(self, task_id: str) -> tuple[Task | None, Pulse | None]:
        """The task and its pulse, in one consistent call."""

    def get_many(self, task_ids: Sequence[str]) -> Mapping[str, Task]:
        """Those of the tasks that are on record, by id; at most 100, in one call."""

    def get_input(self, task_id: str) -> str | None:
        """The validated input, a JSON text."""

    def keep_input(self, task: Task, deadline_at: int) -> bool:
        """Keep its input, and what follows it, for a life until `deadline_at` (epoch ms).

        False, and nothing is promised, when the input is not there any more.
        """

    def get_then(self, task_id: str) -> str | None:
        """What follows the task, a JSON text."""

    def callback_body(self, task_id: str, generation: int, body: str) -> str:
        """Keep the bytes of a callback once and return what is kept: the first `body` wins."""

    def list_by_owner(self, owner: Owner, limit: int, start: str | None = None) -> Page[Task]:
        """The owner's tasks, newest first; `start` is a page's `next`."""

    def due(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        """Live tasks of a clock shard whose `due_at` is not after `until`, the oldest first."""

    def problems(self, day: str, shard: int, limit: int, start: str | None = None) -> Page[Problem]:
        """Failed and timed-out tasks of a UTC day (``YYYY-MM-DD``), the latest first."""

    def owed(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        """Ended tasks of a clock shard that owe something and are due, the oldest first."""

    def ledger(self, owner: Owner) -> Ledger:
        """The owner's books, all shards added up."""

    def pending(self, owner: Owner) -> Mapping[int, int]:
        """How many of the owner's tasks are unfinished, by the shard of the ledger."""


class Rates(Protocol):
    """Shared rates: one item each, no counter that could leak."""

    def reserve(self, key: str, interval_ms: int, burst: int) -> int:
        """Take the next slot of the rate and return when it is (epoch ms); never refuses."""

    def admit(self, key: str, interval_ms: int, burst: int) -> int | None:
        """Take a slot when there is one now: None. Else take nothing: epoch ms of the next one.

        At most `burst` at once, and one each `interval_ms` in the long run (GCRA).
        """


@dataclass(frozen=True, slots=True)
class Depth:
    """What is in a lane. Messages that are due later are in neither number."""

    waiting: int
    taken: int


class Lanes(Protocol):
    """The queues, by lane name. Times are whole seconds."""

    def send(self, lane: str, message: Message, delay: int = 0) -> None: ...

    def receive(self, lane: str, wait: int = 0, most: int = 1) -> Sequence[Delivery]: ...

    def delete(self, delivery: Delivery) -> None: ...

    def hide(self, delivery: Delivery, seconds: int) -> None:
        """Show the message again after `seconds` from now; 0 gives it back at once."""

    def waiting(self, lane: str) -> int:
        """About how many messages wait in the lane."""

    def depth(self, lane: str) -> Depth:
        """About how many messages wait in the lane, and how many are held by workers."""

    def visibility(self, lane: str) -> int:
        """The lane's real visibility timeout in seconds."""


class Errands(Protocol):
    """The queue of tasks that somebody should look at soon, to settle them or to tell of them."""

    def send(self, task_id: str, delay: int, news: str | None = None) -> None:
        """Have the task looked at in `delay` seconds (at most 900), or tell its `news` once."""


class Now(Protocol):
    """The only source of time."""

    def __call__(self) -> int:
        """Epoch milliseconds, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything outside, in one hand."""

    tasks: TaskStore
    pulses: Pulses
    rates: Rates
    lanes: Lanes
    results: Results
    errands: Errands
    receivers: Receivers
    slots: Slots | None = None
    """None where nothing is claimed."""
    switches: SwitchStore | None = None
    """None where nothing can be paused."""
    roster: Roster | None = None
    """None where nobody asks who works."""
    bulks: BulkStore | None = None
    """None where no bulk act is planned or worked on."""
    spreads: Spreads | None = None
    """None where nothing is estimated."""
    now: Now
