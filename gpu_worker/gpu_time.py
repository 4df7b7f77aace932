"""The account of GPU time: each attempt's seconds, and which of them brought the caller nothing.

Two events with stable names and fields:

- ``ran``     {task, type, state, seconds}: every attempt, with the state that the task is in now
- ``wasted``  {task, type, cause, seconds}: an attempt that brought no result that counts

This is the worker's own account. `transition` lines tell the same of a task's runs, those of killed
workers included: count by the one or by the other, never by both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu_worker.outcome import Broken, Interrupted, Outcome, Snoozed
from taskgate.events import event
from taskgate.lifecycle.states import State
from taskgate.task import Task

LOST: Final = "lost"


def account(task: Task, outcome: Outcome, state: State | None, seconds: float) -> None:
    """Tell what an attempt took; `state` is None when the task is somebody else's now."""
    rounded = round(seconds, 3)
    event("ran", task=task.id, type=task.type, state=state or LOST, seconds=rounded)
    if cause := cause_of(outcome, state):
        event("wasted", task=task.id, type=task.type, cause=cause, seconds=rounded)


def cause_of(outcome: Outcome, state: State | None) -> str | None:
    """Why the attempt brought nothing, in one word; None when it did bring something."""
    if state in _BY_STATE:
        return _BY_STATE[state]
    return (
        outcome.failure.code
        if isinstance(outcome, Broken)
        else _BY_OUTCOME.get(type(outcome), LOST)
    )


_BY_STATE: Final[Mapping[State | None, str | None]] = {
    None: LOST,
    State.SUCCEEDED: None,
    State.CANCELED: "canceled",
}
_BY_OUTCOME: Final[Mapping[type[Outcome], str]] = {
    Interrupted: "interrupted",
    Snoozed: "snoozed",
}
