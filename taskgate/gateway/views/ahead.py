"""What comes next by itself: when the gateway looks at a task, and the limit that comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate.gateway.views.stories import about
from taskgate.lifecycle.states import State
from taskgate.lifecycle.verdict import queue_ends_at
from taskgate.settings import Timing
from taskgate.task import CancelMode, Task

SWEEP_MS: Final = Timing().sweep_every * 1000


@dataclass(frozen=True, slots=True)
class Look:
    """The gateway looks at the task not before `at`, and by about `by`, unless something moves."""

    at: int
    by: int


@dataclass(frozen=True, slots=True)
class NextLimit:
    """The limit that comes first, and the state that follows when it passes."""

    name: str
    at: int
    then: State


def next_look(task: Task, now: int) -> Look | None:
    """When the gateway looks, unless something moves before; None when nothing is owed."""
    if task.due_at is None:
        return None
    return Look(task.due_at, max(task.due_at, now) + SWEEP_MS)


def next_limit(task: Task, held_at: int | None = None) -> NextLimit | None:
    """The limit that comes first in the task's present state; `held_at` is when a switch last held it."""
    match task.state:
        case State.SCHEDULED | State.PAUSED:
            return NextLimit("deadline", task.deadline_at, State.TIMED_OUT)
        case State.CREATED | State.QUEUED | State.RETRYING:
            ends_at = queue_ends_at(task, held_at)
            return _before_deadline(task, "queue_timeout", ends_at, State.TIMED_OUT)
        case State.PROCESSING:
            return _before_deadline(task, "run_timeout", task.run_ends_at, State.STALLED)
        case State.STALLED:
            over = task.since + task.limits.stall_grace
            return _before_deadline(task, "stall_grace", over, _after_grace(task, over))
        case State.CANCELING:
            return _cancel_limit(task)
    return None


def look_sentence(look: Look | None, now: int) -> str:
    if look is None:
        return "Nothing is owed: the gateway does not look at it again."
    if look.at <= now:
        return f"The gateway looks at it at the next sweep, within {about(look.by - now)}."
    soonest, latest = about(look.at - now), about(look.by - now)
    return f"If nothing moves before, the gateway looks at it in {soonest}, at the latest {latest}."


def limit_sentence(limit: NextLimit | None, now: int) -> str | None:
    if limit is None:
        return None
    left = f"in {about(limit.at - now)}" if limit.at > now else "now"
    return f"The next limit is {limit.name}, {left}; it would then be {limit.then}."


def _before_deadline(task: Task, name: str, at: int, then: State) -> NextLimit:
    if at >= task.deadline_at:
        ends = State.STALLED if task.state is State.PROCESSING else State.TIMED_OUT
        return NextLimit("deadline", task.deadline_at, ends)
    return NextLimit(name, at, then)


def _after_grace(task: Task, over: int) -> State:
    if over >= task.run_ends_at:
        return State.TIMED_OUT
    return State.QUEUED if task.budgets.crashes.left else State.FAILED


def _cancel_limit(task: Task) -> NextLimit:
    if task.cancel and task.cancel.mode is CancelMode.SOFT:
        return _before_deadline(task, "run_timeout", task.run_ends_at, State.CANCELED)
    return NextLimit("cancel_grace", task.since + task.limits.cancel_grace, State.CANCELED)
