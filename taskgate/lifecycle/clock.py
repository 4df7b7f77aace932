"""The clock rule: every unfinished task has a clock; a settled one has none.

``due(task)`` is the latest moment at which somebody must look at the task again. It depends on the
task alone, so the rule can be checked for any task at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from taskgate.lifecycle.states import State
from taskgate.task import Task


def due(task: Task) -> int | None:
    """Epoch ms, or None for a task that ended and owes nothing."""
    if task.state.ended:
        return task.owed_at if task.owes else None
    return min(_LOOK[task.state](task), task.deadline_at)


def sound(task: Task) -> bool:
    """Whether the clock that stands keeps the rule: while a task lives, somebody will look in time."""
    if task.state.ended and task.owes and task.owed_at is None:
        return False
    rule = due(task)
    if rule is None or task.due_at is None:
        return rule is task.due_at
    return task.state.ended or task.due_at <= task.deadline_at + task.limits.lease


def _scheduled(task: Task) -> int:
    return task.run_at or task.since


def _created(task: Task) -> int:
    return min((task.sent_at or task.since) + task.limits.send_check, task.queue_ends_at)


def _queued(task: Task) -> int:
    return min(_next_send(task), task.queue_ends_at)


def _next_send(task: Task) -> int:
    if task.sent_at is None:
        # Back in the lane by a write; whether its message followed is not known yet.
        return task.since + task.limits.send_check
    if task.sends >= task.limits.max_redeliveries:
        return task.queue_ends_at
    return task.sent_at + task.limits.redeliver_after


def _processing(task: Task) -> int:
    return min(task.since + task.limits.lease, task.run_ends_at)


def _stalled(task: Task) -> int:
    return task.since + task.limits.stall_grace


def _paused(task: Task) -> int:
    return task.resume_at or task.deadline_at


def _retrying(task: Task) -> int:
    not_before = task.not_before or task.since
    if task.sent_at is None:
        # Too far ahead for a delayed message: the sweep sends it when the time has come.
        return not_before
    if task.sends == 0:
        return not_before + task.limits.send_check
    return min(_next_send(task), task.queue_ends_at)


def _canceling(task: Task) -> int:
    return task.since + task.limits.cancel_grace


_LOOK: Final[Mapping[State, Callable[[Task], int]]] = {
    State.SCHEDULED: _scheduled,
    State.CREATED: _created,
    State.QUEUED: _queued,
    State.PROCESSING: _processing,
    State.STALLED: _stalled,
    State.PAUSED: _paused,
    State.RETRYING: _retrying,
    State.CANCELING: _canceling,
}
