"""A change: everything one guarded write does to a task, as a value.

`born`, `claimed`, `moved`, `rearmed` and `mended` are the only places in Taskgate that set a state or
a clock.
A store applies a change as it stands: `applied` says on a plain task what every store must do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from taskgate.errors import IllegalTransition
from taskgate.lifecycle import clock
from taskgate.lifecycle.duties import owed_by
from taskgate.lifecycle.history import MAX_ENTRIES, MAX_REASON, Entry, cap_bytes, fold
from taskgate.lifecycle.states import RULES, State, Verb
from taskgate.salvage import Salvage
from taskgate.task import Owner, Task

SETTLING_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who does it, when (epoch ms), why; `op_id` is fresh for each logical write."""

    at: int
    op_id: str
    actor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PulseGuard:
    """Demands that no pulse of `attempt` is younger than `before` (epoch ms)."""

    attempt: int
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What the task must be for the write to happen. None demands nothing."""

    states: frozenset[State]
    attempt: int | None = None
    version: int | None = None
    claimable_at: int | None = None
    """Demands that `not_before` is absent or not later, and that the deadline is ahead."""
    lane: str | None = None
    """Demands that the task waits in this lane: a message of before it was moved is void."""
    pulse: PulseGuard | None = None

    def admits(self, task: Task) -> bool:
        """Whether the task itself fits; the pulse is the store's to look at."""
        return self.version in (None, task.version) and self.admits_but_version(task)

    def admits_but_version(self, task: Task) -> bool:
        """Whether only the copy was old: built again from `task`, the change would be admitted."""
        return (
            task.state in self.states
            and self.attempt in (None, task.attempt)
            and self.lane in (None, task.lane)
            and (self.claimable_at is None or _claimable(task, self.claimable_at))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerMove:
    """What the user's ledger must record in the same transaction."""

    owner: Owner
    shard: int = 0
    """Of the owner's ledger: where the task is booked."""
    counter: State
    """The ended state that gains one (or loses one when the task is reopened)."""
    reopened: bool = False
    room: int | None = None
    """A reopened task is taken back only while fewer than so many are unfinished."""
    wait_ms: int = 0
    run_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One guarded write. `sets` maps fields of `Task` to new values; None removes."""

    task_id: str
    verb: Verb | None
    guard: Guard
    stamp: Stamp
    sets: Mapping[str, Any]
    entry: Entry | None = None
    """Appended to the history, unless `sets` brings the whole history, folded."""
    ledger: LedgerMove | None = None
    salvage: Salvage | None = None
    """Kept in the same write."""
    after: Task | None = field(default=None, compare=False)
    """The task as it will be, as far as the one who built the change knows it."""


def born(task: Task, to: State, stamp: Stamp) -> Task:
    """The first record of a task, in the state `to`."""
    first = _entry(Verb.SUBMIT, to, 0, stamp)
    task = replace(task, state=to, since=stamp.at, op_id=stamp.op_id, history=(first,))
    return replace(task, due_at=clock.due(task))


def claimed(
    task_id: str, attempt: int, stamp: Stamp, worker: str, lease: int, lane: str | None = None
) -> Change:
    """The claim of a task that was not read: `attempt` claims so far, `lease` in ms.

    The clock is the lease alone, since the task's other limits are not known here. The worker
    learns them from the answer; the sweep looks no later than one lease after any of them.
    """
    guard = Guard(
        states=RULES[Verb.CLAIM].sources, attempt=attempt, claimable_at=stamp.at, lane=lane
    )
    sets = {
        "state": State.PROCESSING,
        "since": stamp.at,
        "started_at": stamp.at,
        "attempt": attempt + 1,
        "worker": worker,
        "due_at": stamp.at + lease,
        "not_before": None,
    }
    entry = _entry(Verb.CLAIM, State.PROCESSING, attempt + 1, stamp)
    return Change(
        task_id=task_id, verb=Verb.CLAIM, guard=guard, stamp=stamp, sets=sets, entry=entry
    )


def moved(
    task: Task, verb: Verb, to: State, stamp: Stamp, guard: Guard | None = None, **sets: Any
) -> Change:
    """The change that takes `task` by `verb` to `to`: state, clock, history and ledger in one.

    The default guard is the state and version that were read. A worker passes `held`, since its
    copy may be older than an extension or a suspicion, which must not make it lose its work.
    """
    require(task, verb)
    if to not in RULES[verb].targets:
        raise IllegalTransition(verb, to)
    entry = _entry(verb, to, sets.get("attempt", task.attempt), stamp)
    sets |= {"state": to, "since": stamp.at} | owed_by(task, to, stamp.at, sets.get("kept_until"))
    if to.ended or task.ended_at is not None:
        sets["ended_at"] = stamp.at if to.ended else None
    after = replace(task, **sets)
    sets["due_at"] = clock.due(after)
    guard = guard or read(task)
    if len(task.history) >= MAX_ENTRIES:
        # The whole history is written: nothing may have been added to it since it was read.
        guard = replace(guard, version=task.version)
        sets["history"] = fold((*task.history, entry))
    return _change(task, verb, guard, stamp, sets, entry, _ledger(task, after))


def rearmed(task: Task, stamp: Stamp, look_at: int | None = None, **sets: Any) -> Change:
    """Only the clock moves: somebody has looked, and `look_at` says when to look again.

    Without it the clock's own rule says, after `sets`; never sooner than `SETTLING_MS`, so that
    the write that follows a send is not mistaken for a lost one.
    """
    due_at = clock.due(replace(task, **sets)) if look_at is None else look_at
    sets["due_at"] = min(max(due_at or 0, stamp.at + SETTLING_MS), task.deadline_at)
    return _change(task, None, read(task), stamp, sets)


def rested(task: Task, stamp: Stamp, verb: Verb | None = None, **sets: Any) -> Change:
    """An ended task settles, or puts off, some of what it owes; its state stays.

    With a verb somebody asked for it, and the history tells who.
    """
    sets |= {"state": task.state, "ended_at": task.ended_at}
    if verb:
        require(task, verb)
        sets["history"] = fold((*task.history, _entry(verb, task.state, task.attempt, stamp)))
    sets["due_at"] = clock.due(replace(task, **sets))
    return _change(task, None, read(task), stamp, sets)


def noted(task: Task, verb: Verb, stamp: Stamp, attempt: int) -> Change:
    """Only the history grows: something was tried and refused, and that is worth telling."""
    entry = _entry(verb, task.state, attempt, stamp)
    history = fold((*task.history, entry))
    return _change(task, None, read(task), stamp, {"history": history})


def mended(task: Task, stamp: Stamp, missing: Verb | None = None) -> Change:
    """The record made to agree with its own state: end and clock, and the entry of `missing`.

    The state is what stands; a clock that stands within its bounds is left as it is.
    """
    ended_at = (task.ended_at or task.since) if task.state.ended else None
    sets: dict[str, Any] = {"state": task.state, "ended_at": ended_at}
    if task.state.ended and task.owes and task.owed_at is None:
        sets["owed_at"] = stamp.at
    if not clock.sound(task):
        due_at = clock.due(replace(task, **sets))
        sets["due_at"] = due_at if due_at is None else max(due_at, stamp.at + SETTLING_MS)
    else:
        sets["due_at"] = task.due_at
    if missing:
        entry = _entry(missing, task.state, task.attempt, stamp)
        sets["history"] = fold((*task.history, entry))
    return _change(task, None, read(task), stamp, sets)


def raised(task: Task, stamp: Stamp, attempt: int) -> Change:
    """The fence above an attempt that ran and that the record does not know of: the next claim is
    beyond it, and a worker that still runs it goes on with what it holds.
    """
    return _change(task, None, read(task), stamp, {"attempt": attempt})


def require(task: Task, verb: Verb) -> None:
    """Raise `IllegalTransition` when the task's state does not know the verb."""
    if task.state not in RULES[verb].sources:
        raise IllegalTransition(verb, task.state)


def read(task: Task) -> Guard:
    """Nothing has changed since the task was read."""
    return Guard(states=frozenset({task.state}), version=task.version)


def held(task: Task, verb: Verb) -> Guard:
    """The attempt still holds the task, in any state that the verb may leave."""
    return Guard(states=RULES[verb].sources, attempt=task.attempt)


def applied(task: Task, change: Change) -> Task:
    """The task after the change. Stores must agree with this."""
    after = replace(task, **change.sets, version=task.version + 1, op_id=change.stamp.op_id)
    if change.entry and "history" not in change.sets:
        after = replace(after, history=(*after.history, change.entry))
    return after


def _change(
    task: Task,
    verb: Verb | None,
    guard: Guard,
    stamp: Stamp,
    sets: dict[str, Any],
    entry: Entry | None = None,
    ledger: LedgerMove | None = None,
) -> Change:
    change = Change(
        task_id=task.id,
        verb=verb,
        guard=guard,
        stamp=stamp,
        sets=sets,
        entry=entry,
        ledger=ledger,
    )
    return replace(change, after=applied(task, change))


def _entry(verb: Verb, to: State, attempt: int, stamp: Stamp) -> Entry:
    return Entry(
        at=stamp.at,
        verb=verb,
        to=to,
        attempt=attempt,
        actor=stamp.actor,
        reason=cap_bytes(stamp.reason, MAX_REASON),
    )


def _ledger(before: Task, after: Task) -> LedgerMove | None:
    if before.state.ended == after.state.ended:
        return None
    ended = after if after.state.ended else before
    started, end = ended.started_at, ended.ended_at or ended.since
    # What the caller wanted to wait is not the lane's wait.
    wanted = max(ended.created_at, ended.run_at or 0)
    return LedgerMove(
        owner=before.owner,
        shard=before.ledger_shard,
        counter=ended.state,
        reopened=before.state.ended,
        wait_ms=max(0, (started or end) - wanted),
        run_ms=max(0, end - started) if started else 0,
    )


def _claimable(task: Task, now: int) -> bool:
    return (task.not_before or 0) <= now < task.deadline_at
