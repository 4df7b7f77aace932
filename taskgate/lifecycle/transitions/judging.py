"""What is decided over a task: by the sweep that suspects it, by its owner, by an operator."""

from __future__ import annotations

from dataclasses import replace

from taskgate.errors import IllegalTransition
from taskgate.lifecycle.change import (
    Change,
    Stamp,
    held,
    moved,
    read,
    require,
)
from taskgate.lifecycle.retry import Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import HELD, State, Verb
from taskgate.lifecycle.transitions.shaping import (
    bad_end,
    canceled,
    capped,
    requeued,
    silent,
)
from taskgate.salvage import Salvage
from taskgate.task import CancelMode, CancelRequest, Task, TaskError


def stall(task: Task, stamp: Stamp) -> Change:
    """Suspected: the beat is lost, or the run's time is up. Announced, not yet judged."""
    require(task, Verb.STALL)
    guard = replace(held(task, Verb.STALL), version=task.version)
    if stamp.at < task.run_ends_at:
        guard = replace(guard, pulse=silent(task, stamp))
    return moved(task, Verb.STALL, State.STALLED, stamp, guard)


def revive(task: Task, stamp: Stamp) -> Change:
    """The beat is back."""
    return moved(task, Verb.REVIVE, State.PROCESSING, stamp)


def rescue(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """The suspicion is confirmed: run again while the crash budget lasts, else end."""
    error, crashed = capped(error), error.error_class is ErrorClass.CRASH
    budgets = task.budgets.spend(ErrorClass.CRASH) if crashed else task.budgets
    if crashed and task.budgets.crashes.left:
        return moved(
            task, Verb.RESCUE, State.QUEUED, stamp, **requeued(stamp, budgets), error=error
        )
    return moved(task, Verb.RESCUE, bad_end(error), stamp, error=error, budgets=budgets)


def pause(task: Task, stamp: Stamp, resume_at: int | None = None) -> Change:
    """An operator holds a waiting task back, until `resume_at` or until somebody resumes it."""
    if task.state in HELD:
        raise IllegalTransition(Verb.PAUSE, task.state)
    return moved(task, Verb.PAUSE, State.PAUSED, stamp, resume_at=resume_at)


def resume(task: Task, stamp: Stamp) -> Change:
    """Back to its lane; the message follows, and the clock brings it if it is lost."""
    waiting = requeued(stamp, task.budgets)
    return moved(task, Verb.RESUME, State.QUEUED, stamp, **waiting, resume_at=None)


def cancel(task: Task, stamp: Stamp, mode: CancelMode, code: ErrorCode) -> Change:
    """Canceled at once when nobody computes it; else asked for, until it is known to be stopped.

    A soft one that is under way can be made hard, and its grace begins anew; never the reverse.
    """
    require(task, Verb.CANCEL)
    request = CancelRequest(mode, code, stamp.at, stamp.actor)
    if task.state is State.CANCELING and not hardens(task, mode):
        raise IllegalTransition(Verb.CANCEL, task.state)
    if task.state in HELD:
        return moved(task, Verb.CANCEL, State.CANCELING, stamp, cancel=request)
    request = replace(request, stopped_at=stamp.at)
    return moved(
        task, Verb.CANCEL, State.CANCELED, stamp, cancel=request, error=canceled(code, stamp)
    )


def hardens(task: Task, mode: CancelMode) -> bool:
    """Whether a cancel of this mode asks for more than the one that is under way."""
    soft = task.cancel is not None and task.cancel.mode is CancelMode.SOFT
    return soft and mode is CancelMode.HARD


def stopped(
    task: Task,
    stamp: Stamp,
    *,
    seen_at: int | None = None,
    forced: bool = False,
    salvage: Salvage | None = None,
) -> Change:
    """Nothing computes it any more. Forced by the sweep, the attempt goes up.

    With a `salvage` the run came to its end, and its result is kept in the same write.
    """
    require(task, Verb.STOPPED)
    code = task.cancel.code if task.cancel else ErrorCode.CANCELED_BY_USER
    asked = task.cancel or CancelRequest(CancelMode.HARD, code, task.since)
    # The worker's clock may be a little behind that of whoever asked.
    seen_at = None if seen_at is None else min(max(seen_at, asked.at), stamp.at)
    request = replace(asked, seen_at=seen_at, stopped_at=stamp.at, enforced=forced)
    # Whether a result is kept depends on the cancel that was read: it may be made hard meanwhile.
    change = moved(
        task,
        Verb.STOPPED,
        State.CANCELED,
        stamp,
        read(task) if forced or salvage else held(task, Verb.STOPPED),
        attempt=task.attempt + 1 if forced else task.attempt,
        cancel=request,
        error=canceled(code, stamp),
        kept_until=salvage and salvage.expires_at * 1000,
    )
    return replace(change, salvage=salvage)


def reopen(task: Task, stamp: Stamp, budgets: Budgets, room: int | None = None) -> Change:
    """A person gives an ended task another life: fresh budgets and deadline, history kept.

    `room` is the user's limit of unfinished tasks; None for whoever looks after others.
    """
    change = moved(
        task,
        Verb.REOPEN,
        State.QUEUED,
        stamp,
        **requeued(stamp, budgets),
        generation=task.generation + 1,
        deadline_at=stamp.at + task.limits.deadline,
        error=None,
        started_at=None,
    )
    return replace(change, ledger=change.ledger and replace(change.ledger, room=room))
