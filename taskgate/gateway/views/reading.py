"""Reading: one task, its light status, the ledger, the lanes. Another user's task does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from taskgate.errors import (
    ResultExpired,
    ResultNotReady,
    TaskExpired,
    TaskNotFound,
    Unavailable,
)
from taskgate.events import swallowed
from taskgate.gateway.announcing import rfc3339
from taskgate.lifecycle.states import State
from taskgate.ports import Ledger, Ports, Pulse
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.task import Task

T = TypeVar("T")

DAY_MS: Final = 24 * 3_600_000
FOREVER: Final = Retention(10**5, 10**5)
MAX_WAIT: Final = 20
"""Seconds; the function must answer within 29."""
TASK_ID: Final = re.compile(r"task_[0-7][0-9A-HJKMNP-TV-Z]{25}")
"""What a task id looks like: a ULID. Anything else cannot be on record."""
_PACES: Final = ((30_000, 2), (120_000, 5))
"""(age in ms below which, seconds between polls)."""
_SLOWEST_PACE: Final = 10


@dataclass(frozen=True, slots=True)
class View:
    """A task as its owner sees it: the record and, while it runs, its pulse."""

    task: Task
    pulse: Pulse | None

    @property
    def progress(self) -> float:
        """0 to 1; 1 only when it succeeded; 0 again on a new attempt."""
        if self.task.state is State.SUCCEEDED:
            return 1.0
        return self.pulse.progress if self.pulse else 0.0

    @property
    def stage(self) -> str:
        return self.pulse.stage if self.pulse else ""


def view(ports: Ports, principal: Principal, task_id: str, keep: Retention = FOREVER) -> View:
    """The task with its pulse: 1 call. After its time `TaskExpired`, which tells how it ended.

    An accepted id is never unknown again: the record stays, what it tells does not.
    """
    principal.require("tasks:read")
    task, pulse = ports.tasks.get_with_pulse(task_id)
    task = told(owned(task, principal), ports.now(), keep)
    current = pulse if pulse and pulse.attempt == task.attempt else None
    return View(task, current)


def awaited(
    ports: Ports,
    found: T,
    look: Callable[[], T],
    done: Callable[[T], bool],
    seconds: int,
    sleep: Callable[[float], None],
) -> T:
    """`found`, looked at again each second until it is done or so many seconds have gone by.

    A store that is away in mid-wait ends the wait, with what was last seen.
    """
    until = ports.now() + seconds * 1000
    while not done(found) and ports.now() + 1000 <= until:
        sleep(1)
        try:
            found = look()
        except Unavailable as error:
            swallowed("wait_ended_early", error)
            return found
    return found


def finished(ports: Ports, principal: Principal, task_id: str, keep: Retention = FOREVER) -> Task:
    """The task with its result; `ResultNotReady` before its time, `ResultExpired` after: 1 call."""
    principal.require("tasks:read")
    task = told(owned(ports.tasks.get(task_id), principal), ports.now(), keep)
    if task.state is not State.SUCCEEDED:
        raise ResultNotReady(task.state)
    if _older(task, ports.now(), keep.results):
        raise ResultExpired
    return task


def told(task: Task, now: int, keep: Retention) -> Task:
    """The task while it is told of in full; else `TaskExpired`."""
    if expired(task, now, keep):
        raise TaskExpired(task.state.value, rfc3339(task.ended_at or task.since))
    return task


def expired(task: Task, now: int, keep: Retention) -> bool:
    """Whether only its end is told of any more."""
    return _older(task, now, keep.records)


def shown(task: Task, now: int, keep: Retention) -> Task:
    """The task as a list tells of it: once its time is over, of its end alone."""
    if not expired(task, now, keep):
        return task
    return replace(task, error=None, cancel=None, result=(), output=None, metadata=None)


def _older(task: Task, now: int, days: int) -> bool:
    return task.state.ended and (task.ended_at or task.since) + days * DAY_MS <= now


def stats(ports: Ports, principal: Principal) -> Ledger:
    """The caller's books."""
    principal.require("tasks:read")
    return ports.tasks.ledger(principal.owner)


def queues(ports: Ports, principal: Principal, lanes: Iterable[str]) -> Mapping[str, int]:
    """About how many messages wait in each lane: 1 call a lane. Operators only."""
    principal.require("admin")
    return {lane: ports.lanes.waiting(lane) for lane in lanes}


def owned(task: Task | None, principal: Principal) -> Task:
    """The task, or `TaskNotFound`: the same answer for a foreign task as for none."""
    if task is None or task.owner != principal.owner:
        raise TaskNotFound
    return task


def visible(task: Task | None, principal: Principal) -> Task:
    """A task that the principal may act on: its own, or one that it looks after."""
    if task is not None and principal.manages(task.owner):
        return task
    return owned(task, principal)


def within_time(
    task: Task | None, principal: Principal, now: int, keep: Retention = FOREVER
) -> Task:
    """As `visible`; for its owner `TaskExpired` once its time is over. Who looks after it may go on."""
    task = visible(task, principal)
    return task if principal.manages(task.owner) else told(task, now, keep)


def poll_after(task: Task, now: int) -> int:
    """Seconds until it is worth asking again: the older the task, the slower the pace."""
    age = now - task.created_at
    return next((pace for limit, pace in _PACES if age < limit), _SLOWEST_PACE)
