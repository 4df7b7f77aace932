"""What a small world is made of: one task, its messages, and what each actor remembers of them.

A state is a value. Times stand around `NOW`, which never moves: a tick makes everything a second
older instead, so that equal situations at different times are one state.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp, applied
from taskgate.lifecycle.retry import Budget, Budgets
from taskgate.lifecycle.states import HELD, State, Verb
from taskgate.lifecycle.verdict import Verdict
from taskgate.pulses import Signal
from taskgate.task import CancelMode, Limits, Owner, Task

TICK: Final = 1_000
NOW: Final = 100 * TICK
"""Not zero, which the life cycle may take for no time at all."""
LEASE: Final = 2
LIMITS: Final = Limits(
    queue_timeout=3 * TICK,
    run_timeout=3 * TICK,
    max_run=3 * TICK,
    deadline=4 * TICK,
    redeliver_after=2 * TICK,
    max_redeliveries=1,
    lease=LEASE * TICK,
    send_check=1 * TICK,
    stall_grace=1 * TICK,
    cancel_grace=1 * TICK,
)
STAMP: Final = Stamp(NOW, "", "model")
TIMES: Final = (
    "since", "deadline_at", "due_at", "queued_at", "sent_at", "started_at", "not_before",
    "resume_at",
)  # fmt: skip

V = TypeVar("V", bound=Hashable)


class Numbers(Generic[V]):
    """Values as small numbers, 0 for none: a state is hashed a million times, its parts once."""

    def __init__(self) -> None:
        self._values: list[V | None] = [None]
        self._numbers: dict[V | None, int] = {None: 0}

    def of(self, value: V | None) -> int:
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def __getitem__(self, number: int) -> V | None:
        return self._values[number]


TASKS: Final[Numbers[Task]] = Numbers()
VERDICTS: Final[Numbers[Verdict]] = Numbers()


class Broken(AssertionError):
    """An invariant does not hold."""


class Msg(NamedTuple):
    """A message: the attempt it names, ticks until it is visible, whose receipt is the last, and
    the lane that it is in.
    """

    attempt: int
    hidden: int = 0
    receipt: int = -1
    lane: str = "l"


class Worker(NamedTuple):
    """What a worker process remembers: where it is, and its copy of the task."""

    phase: str = "idle"
    held: int = 0

    @property
    def copy(self) -> Task | None:
        return TASKS[self.held]


class Sweep(NamedTuple):
    """What the sweep remembers of the task that it has read."""

    phase: str = "idle"
    verdict: int = 0
    attempt: int = 0
    lane: str = ""
    word: str = ""
    """What it would tell the task's worker."""


class Pulse(NamedTuple):
    """The attempt, ticks since its last beat or None, and the word for its worker."""

    attempt: int
    beat: int | None = None
    signal: str = ""


API, CANCELER, SWEEP = range(3)


class World(NamedTuple):
    """Everything, as of now."""

    record: int = 0
    pulse: Pulse | None = None
    msgs: tuple[Msg, ...] = ()
    workers: tuple[Worker, ...] = (Worker(), Worker())
    api: str = "create"
    canceler: str = "read"
    cancels: tuple[CancelMode, ...] = (CancelMode.HARD,)
    """The cancels that are still to be asked for, in turn."""
    mover: str = "done"
    """Who gives the task another priority; what it reads and writes is one guarded step."""
    sweep: Sweep = Sweep()
    fresh: tuple[bool, bool, bool] = (True, True, True)
    """Whether what api, canceler and sweep have read is still the task as it stands."""
    deaths: int = 0
    """How many more times an actor may die between two steps, or SQS lose a message."""
    copies: int = 0
    """How many more times SQS may show a message that it has already shown."""
    budgets: tuple[int, int, int] = (0, 1, 0)
    """(retries, crashes, interruptions) of the task."""
    results: int = 0
    kept: int = 0
    """Results of a soft-cancelled run that wait for the next identical submit."""
    books: tuple[int, int, int] = (0, 0, 0)
    """(submitted, active, ended)."""

    @property
    def task(self) -> Task | None:
        return TASKS[self.record]


def new(budgets: tuple[int, int, int]) -> int:
    """The record of a task that was just submitted."""
    born = Task(
        id="task_1",
        owner=Owner("a", "b"),
        type="t",
        lane="l",
        state=State.CREATED,
        created_at=NOW,
        since=NOW,
        deadline_at=NOW + LIMITS.deadline,
        limits=LIMITS,
        budgets=Budgets(*map(Budget, budgets)),
    )
    return TASKS.of(bare(transitions.submit(born, STAMP)))


def tick(w: World) -> World:
    """One second passes, for everybody."""
    pulse = w.pulse
    if pulse is not None and pulse.beat is not None:
        pulse = pulse._replace(beat=min(pulse.beat + 1, LEASE + 1))
    return w._replace(
        record=_aged(w.record),
        pulse=pulse,
        msgs=tuple(sorted(m._replace(hidden=max(0, m.hidden - 1)) for m in w.msgs)),
        workers=tuple(x._replace(held=_aged(x.held)) for x in w.workers),
        sweep=w.sweep._replace(verdict=_waited(w.sweep.verdict)),
    )


@functools.cache
def _aged(number: int) -> int:
    task = TASKS[number]
    if task is None or task.state.ended:
        return number
    return TASKS.of(replace(task, **{name: at - TICK for name, at in times(task)}))


def times(task: Task) -> Iterator[tuple[str, int]]:
    """The times that a task has."""
    for name in TIMES:
        at = getattr(task, name)
        if at is not None:
            yield name, at


@functools.cache
def _waited(number: int) -> int:
    verdict = VERDICTS[number]
    if verdict is None or verdict.look_at is None:
        return number
    return VERDICTS.of(replace(verdict, look_at=verdict.look_at - TICK))


# ---- writes -------------------------------------------------------------------------------------


def write(w: World, change: Change) -> World | None:
    """The guarded write; None when it is refused. Checks what every write must keep."""
    task = w.task
    if task is None or not change.guard.admits(task) or not _quiet(w, change):
        return None
    if task.state.ended:
        raise Broken(f"{change.verb} left {task.state}")
    if change.verb is Verb.TAKE_OVER:
        _was_silent(w, task)
    submitted, active, ended = w.books
    ends = change.ledger is not None
    return w._replace(
        record=TASKS.of(bare(applied(task, change))),
        books=(submitted, active - ends, ended + ends),
        results=w.results + (change.verb is Verb.SUCCEED),
        kept=w.kept + (change.salvage is not None),
        fresh=(False, False, False),
    )


def written(w: World, change: Change) -> World:
    """A write that nothing can refuse: its guard demands what stands."""
    after = write(w, change)
    if after is None:
        raise Broken(f"{change.verb} was refused")
    return after


def _was_silent(w: World, task: Task) -> None:
    if w.pulse and w.pulse.attempt == task.attempt and w.pulse.beat in range(LEASE):
        raise Broken("a live worker's task was taken")


def bare(task: Task) -> Task:
    """Without what only tells the past, or no rule of this state reads."""
    task = replace(task, version=0, op_id="", history=(), worker=None, error=None, ended_at=None)
    if task.state.ended:
        nothing = dict.fromkeys(("queued_at", "sent_at", "started_at", "not_before", "resume_at"))
        due_at = None if task.due_at is None else NOW
        return replace(
            task, since=NOW, deadline_at=NOW, sends=0, due_at=due_at, owed_at=None, **nothing
        )
    if task.state in HELD:
        nothing = dict.fromkeys(("queued_at", "sent_at", "not_before", "resume_at"))
        return replace(task, sends=0, **nothing)
    return replace(task, started_at=None)


def slim(copy: Task | None) -> Task | None:
    """What a worker's copy is good for: the attempt, the budgets, the deadline."""
    nothing = dict.fromkeys(
        ("due_at", "started_at", "queued_at", "sent_at", "not_before", "resume_at", "cancel")
    )
    return copy and replace(copy, since=NOW, sends=0, **nothing)  # type: ignore[arg-type]


def _quiet(w: World, change: Change) -> bool:
    guard, pulse = change.guard.pulse, w.pulse
    if guard is None or pulse is None or pulse.attempt != guard.attempt or pulse.beat is None:
        return True
    return NOW - pulse.beat * TICK < guard.before


def beat_at(w: World, task: Task) -> int | None:
    """The last beat of the task's present attempt, if there was one."""
    if w.pulse is None or w.pulse.attempt != task.attempt or w.pulse.beat is None:
        return None
    return NOW - w.pulse.beat * TICK


def reread(w: World, who: int) -> World:
    """What api, canceler or sweep knows is the task as it stands."""
    api, canceler, sweep = (known or who == i for i, known in enumerate(w.fresh))
    return w._replace(fresh=(api, canceler, sweep))


def delay(task: Task, attempt: int) -> int:
    """Ticks until the wait of this attempt is due; a wait that is over was due."""
    if task.attempt != attempt or task.not_before is None:
        return 0
    return ticks(task.not_before - NOW)


def ticks(ms: int) -> int:
    return -(-max(0, ms) // TICK)


def sent(w: World, message: Msg) -> World:
    """The message is in its lane."""
    return w._replace(msgs=tuple(sorted((*w.msgs, message))))


def signaled(w: World, attempt: int, kind: str) -> World:
    """The word is on the pulse, unless that is a later attempt's, or has a stronger one."""
    seen, beat, said = w.pulse or Pulse(attempt)
    stronger = {word.kind for word in Signal(kind, attempt).stronger}
    if seen > attempt or (seen == attempt and said in stronger):
        return w
    return w._replace(pulse=Pulse(attempt, beat if seen == attempt else None, kind))
