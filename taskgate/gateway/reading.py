"""Reading: one task, its light status, a list, the ledger. Another user's task does not exist."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final

from taskgate.errors import BadCursor, ResultNotReady, TaskNotFound
from taskgate.lifecycle.states import State
from taskgate.ports import Ledger, Page, Ports, Pulse
from taskgate.principal import Principal
from taskgate.task import Owner, Task

MAX_PAGE: Final = 100
MAX_CURSOR: Final = 200
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


def view(ports: Ports, principal: Principal, task_id: str) -> View:
    """The task with its pulse: 1 call."""
    principal.require("tasks:read")
    task, pulse = ports.tasks.get_with_pulse(task_id)
    task = owned(task, principal)
    current = pulse if pulse and pulse.attempt == task.attempt else None
    return View(task, current)


def listed(ports: Ports, principal: Principal, limit: int, cursor: str | None) -> Page[Task]:
    """The caller's tasks, newest first: 2 calls."""
    principal.require("tasks:read")
    start = open_cursor(principal.owner, cursor) if cursor else None
    page = ports.tasks.list_by_owner(principal.owner, min(limit, MAX_PAGE), start)
    sealed = seal_cursor(principal.owner, page.next) if page.next else None
    return Page(page.rows, sealed)


def finished(ports: Ports, principal: Principal, task_id: str) -> Task:
    """The task with its result, or `ResultNotReady`: 1 call."""
    principal.require("tasks:read")
    task = owned(ports.tasks.get(task_id), principal)
    if task.state is not State.SUCCEEDED:
        raise ResultNotReady(task.state)
    return task


def stats(ports: Ports, principal: Principal) -> Ledger:
    """The caller's books."""
    principal.require("tasks:read")
    return ports.tasks.ledger(principal.owner)


def owned(task: Task | None, principal: Principal) -> Task:
    """The task, or `TaskNotFound`: the same answer for a foreign task as for none."""
    if task is None or task.owner != principal.owner:
        raise TaskNotFound
    return task


def visible(task: Task | None, principal: Principal) -> Task:
    """A task that the principal may act on: its own, or for an operator any."""
    if task is not None and "admin" in principal.scopes:
        return task
    return owned(task, principal)


def poll_after(task: Task, now: int) -> int:
    """Seconds until it is worth asking again: the older the task, the slower the pace."""
    age = now - task.created_at
    return next((pace for limit, pace in _PACES if age < limit), _SLOWEST_PACE)


def seal_cursor(owner: Owner, start: str) -> str:
    """A cursor that only this owner's list accepts. It opens no door: the owner is the key."""
    text = json.dumps([start, _mark(owner, start)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def open_cursor(owner: Owner, cursor: str) -> str:
    """Where the page starts; `BadCursor` for anything that `seal_cursor` did not make."""
    if len(cursor) > MAX_CURSOR:
        raise BadCursor  # before parsing: what is inside might nest as deep as it is long
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        start, mark = json.loads(raw)
        good = isinstance(start, str) and mark == _mark(owner, start)
    except (ValueError, TypeError):
        raise BadCursor from None
    if not good or seal_cursor(owner, start) != cursor:
        raise BadCursor
    return str(start)


def _mark(owner: Owner, start: str) -> str:
    return hashlib.sha256(f"tasks|{owner}|{start}".encode()).hexdigest()[:16]
