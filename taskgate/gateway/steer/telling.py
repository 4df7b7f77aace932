"""What the owner may ask of a callback: how it went, and to have it sent once more."""

from __future__ import annotations

from enum import StrEnum

from taskgate.errors import NoCallback
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.steering import changed
from taskgate.gateway.views.reading import FOREVER, owned, told, within_time
from taskgate.lifecycle import owing
from taskgate.lifecycle.change import Change, require
from taskgate.lifecycle.states import Verb
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.task import Callback, Duty, Task


class Stand(StrEnum):
    """How a callback stands, as its owner sees it."""

    WAITING = "waiting"
    """The task has not ended."""
    PENDING = "pending"
    """To be delivered: now, or at the next try."""
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"
    NOT_ASKED = "not_asked"
    """The task ended in a way that is not among the events."""


def stand(task: Task, callback: Callback) -> Stand:
    """How the callback of the task stands."""
    if not task.state.ended:
        return Stand.WAITING
    if Duty.CALLBACK in task.owes:
        return Stand.PENDING
    went = Stand(callback.state.value)
    return Stand.NOT_ASKED if went is Stand.PENDING else went


def next_try_at(task: Task) -> int | None:
    """When it is tried next, or looked after: epoch ms."""
    return task.owed_at if Duty.CALLBACK in task.owes else None


def attempts(ports: Ports, who: Principal, task_id: str, keep: Retention = FOREVER) -> Task:
    """The task with its callback and the attempts of it: 1 call."""
    who.require("tasks:read")
    task = told(owned(ports.tasks.get(task_id), who), ports.now(), keep)
    if task.callback is None:
        raise NoCallback
    return task


def redeliver(ports: Ports, who: Principal, task_id: str, reason: str = "") -> Task:
    """Owe the callback once more, with a fresh schedule. The same event, by the same id."""
    return owe_again(ports, who, to_tell_again(ports, who, task_id), reason)


def to_tell_again(ports: Ports, who: Principal, task_id: str, keep: Retention = FOREVER) -> Task:
    """The ended task whose callback may be sent once more; or why it may not: 1 call."""
    who.require("tasks:write")
    task = within_time(ports.tasks.get(task_id), who, ports.now(), keep)
    if task.callback is None:
        raise NoCallback
    require(task, Verb.REDELIVER)
    return task


def owe_again(ports: Ports, who: Principal, task: Task, reason: str = "") -> Task:
    """Owe it, by one write."""

    def change(current: Task) -> Change:
        made = stamp(ports.now(), who.actor_for(current.owner), reason)
        return owing.redeliver(current, made)

    return changed(ports, task, change)
