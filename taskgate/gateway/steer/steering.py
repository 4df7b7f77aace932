"""What an owner or an operator may do to a task that is on record."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from taskgate.errors import Refused, TaskNotFound, Unavailable
from taskgate.events import swallowed, transition
from taskgate.gateway.stamps import stamp
from taskgate.gateway.views.reading import FOREVER, within_time
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Ports, Signal
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.task import CancelMode, Task

MAX_RE_READS: Final = 5
"""A task changes a handful of times a minute; losing this often means something is wrong."""


def cancel(
    ports: Ports,
    principal: Principal,
    task_id: str,
    mode: CancelMode,
    reason: str = "",
    keep: Retention = FOREVER,
) -> Task:
    """Ask a task to end. Durable first, then the word to its worker.

    An ended task is returned as it is: too late, and honestly so (`outcome`). A soft cancel that is
    under way is made hard by a hard one; a soft one changes nothing of a hard one.
    """
    principal.require("tasks:write")

    def change(task: Task) -> Change | None:
        under_way = task.state is State.CANCELING and not transitions.hardens(task, mode)
        if task.state.ended or under_way:
            return None
        made = stamp(ports.now(), principal.actor_for(task.owner), reason)
        return transitions.cancel(task, made, mode, code)

    task = within_time(ports.tasks.get(task_id), principal, ports.now(), keep)
    mine = task.owner == principal.owner
    code = ErrorCode.CANCELED_BY_USER if mine else ErrorCode.CANCELED_BY_OPERATOR
    task = changed(ports, task, change)
    if task.state is State.CANCELING:
        send_cancel(ports, task)
    return task


class CancelOutcome(StrEnum):
    """What became of a cancel, as far as it is known when it is answered."""

    CANCELED = "canceled"
    CANCELING = "canceling"
    TOO_LATE = "too_late"


def outcome(task: Task) -> CancelOutcome:
    """What a cancel came to, by the task that it left."""
    if task.state is State.CANCELED:
        return CancelOutcome.CANCELED
    return CancelOutcome.TOO_LATE if task.state.ended else CancelOutcome.CANCELING


def changed(ports: Ports, task: Task, build: Callable[[Task], Change | None]) -> Task:
    """Apply what `build` makes of the task; if it moved meanwhile, look again and rebuild.

    `build` answers None when there is nothing to do. Raises `Unavailable` when it loses too often.
    """
    for _ in range(MAX_RE_READS):
        change = build(task)
        if change is None:
            return task
        try:
            after = ports.tasks.apply(change)
        except Refused as refused:
            if refused.current is None:
                raise TaskNotFound from None
            task = refused.current
        else:
            transition(change, task, after)
            return after
    raise Unavailable


def send_cancel(ports: Ports, task: Task) -> None:
    """Leave the word for the worker of the present attempt; the clock repeats it if it is lost."""
    mode = task.cancel.mode if task.cancel else CancelMode.HARD
    try:
        ports.pulses.signal(task.id, Signal(f"cancel_{mode}", task.attempt))
    except Unavailable as error:
        swallowed("signal_unsent", error, task=task.id)
