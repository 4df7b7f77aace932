"""What an ended task still owes, and how a debt is settled. The clock stands until nothing is owed.

Its follow-ups must exist, its clean-up must be done, its callback must be delivered or given up, and
what was kept of a soft-cancelled run must go when its time is over. Each duty is settled by one guarded write; what was done twice was done once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from taskgate.errors import IllegalTransition
from taskgate.lifecycle.change import Change, Stamp, require, rested
from taskgate.lifecycle.states import Verb
from taskgate.task import Callback, CallbackState, Duty, Task, Tried

KEPT_TRIES: Final = 10
"""Attempts of a callback that are kept on the task; all are counted."""
LEASE_MS: Final = 30_000
"""One attempt takes 10 s at most: a row whose attempt is under way is left alone for this long."""


def settled(task: Task, stamp: Stamp, duty: Duty, **sets: Any) -> Change:
    """One duty is done; the clock goes when it was the last."""
    left = tuple(d for d in _owing(task, duty) if d is not duty)
    due = (task.kept_until or stamp.at) if left == (Duty.SALVAGE,) else stamp.at
    return rested(task, stamp, owes=left, owed_at=due if left else None, **sets)


def begun(task: Task, stamp: Stamp) -> Change:
    """An attempt of the callback is under way: nobody else starts one for the length of a lease."""
    _owing(task, Duty.CALLBACK)
    return rested(task, stamp, owed_at=stamp.at + LEASE_MS)


def put_off(task: Task, stamp: Stamp, until: int) -> Change:
    """Not now: the receiver is not to be tried, or the result to be removed, before `until`."""
    return rested(task, stamp, owed_at=max(until, stamp.at + 1))


def given_away(task: Task, stamp: Stamp, to: str) -> Change:
    """What was kept of it is the task `to`'s now: nobody else may have it, and its bytes may go."""
    alone = _owing(task, Duty.SALVAGE) == (Duty.SALVAGE,)
    owed_at = stamp.at if alone else task.owed_at
    return rested(task, stamp, kept_until=None, given_to=to, owed_at=owed_at)


def delivered(task: Task, stamp: Stamp, tried: Tried) -> Change:
    """The receiver has it."""
    callback = _counted(task, tried, CallbackState.DELIVERED)
    return settled(task, stamp, Duty.CALLBACK, callback=callback)


def given_up(task: Task, stamp: Stamp, tried: Tried | None) -> Change:
    """No further attempt; the owner may have it delivered again by hand."""
    callback = _counted(task, tried, CallbackState.GIVEN_UP)
    return settled(task, stamp, Duty.CALLBACK, callback=callback)


def tried_again_at(task: Task, stamp: Stamp, tried: Tried, at: int) -> Change:
    """The attempt failed; the next is at `at` (epoch ms)."""
    callback = _counted(task, tried, CallbackState.PENDING)
    return rested(task, stamp, owed_at=max(at, stamp.at + 1), callback=callback)


def tried_beside(task: Task, stamp: Stamp, tried: Tried) -> Change:
    """An attempt came to its end after somebody had asked for the callback anew: only it is listed."""
    require(task, Verb.REDELIVER)
    counted = _counted(task, tried, task.callback.state if task.callback else CallbackState.PENDING)
    schedule = task.callback.schedule if task.callback else 0
    return rested(task, stamp, callback=replace(counted, schedule=schedule))


def redeliver(task: Task, stamp: Stamp) -> Change:
    """By hand: owe the callback once more, with a fresh schedule."""
    if task.callback is None:
        raise IllegalTransition(Verb.REDELIVER, task.state)
    owes = tuple(d for d in Duty if d is Duty.CALLBACK or d in task.owes)
    fresh = replace(task.callback, state=CallbackState.PENDING, schedule=0)
    return rested(task, stamp, Verb.REDELIVER, owes=owes, owed_at=stamp.at, callback=fresh)


def _owing(task: Task, duty: Duty) -> tuple[Duty, ...]:
    if duty not in task.owes:
        raise IllegalTransition(f"settle_{duty}", task.state)
    return task.owes


def _counted(task: Task, tried: Tried | None, state: CallbackState) -> Callback:
    callback = task.callback
    if callback is None:
        raise IllegalTransition("deliver", task.state)
    if tried is None:
        return replace(callback, state=state)
    return replace(
        callback,
        state=state,
        tries=callback.tries + 1,
        schedule=callback.schedule + 1,
        latest=(*callback.latest, tried)[-KEPT_TRIES:],
    )
