"""The caller's tasks, newest first, by filter; and the cursors that lead through them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from taskgate.gateway.stamps import first_task_id
from taskgate.gateway.views.cursors import Cursors
from taskgate.gateway.views.reading import FOREVER, shown
from taskgate.lifecycle.states import State
from taskgate.ports import Page, Ports
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.task import Owner, Task

MAX_PAGE: Final = 100
MAX_LOOKS: Final = 5
"""Store pages that one answer may cost; where nothing fits it is empty and says where to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which tasks. What is not given does not count. Times are epoch ms."""

    states: frozenset[State] = frozenset()
    type: str | None = None
    since: int | None = None
    """Created at or after this."""
    until: int | None = None
    """Created before this."""
    metadata: Mapping[str, str] = field(default_factory=dict)

    def admits(self, task: Task) -> bool:
        """Whether the task is one of those."""
        return (
            (not self.states or task.state in self.states)
            and self.type in (None, task.type)
            and (self.since is None or task.created_at >= self.since)
            and (self.until is None or task.created_at < self.until)
            and self._bears_labels(task)
        )

    @property
    def leaves_out(self) -> bool:
        """Whether a task within the times may still not be admitted."""
        return bool(self.states or self.type or self.metadata)

    @property
    def start(self) -> str | None:
        """Where the first page starts: ids bear their time, so newer tasks need not be read."""
        return None if self.until is None else first_task_id(self.until)

    def behind(self, task: Task) -> bool:
        """Whether this task and all that follow it are too old: an id's time may be 1 ms early."""
        return self.since is not None and task.created_at < self.since - 1

    def __str__(self) -> str:
        """The same text for the same filter, however it was written."""
        labels = sorted(self.metadata.items())
        return json.dumps([sorted(self.states), self.type, self.since, self.until, labels])

    def _bears_labels(self, task: Task) -> bool:
        if not self.metadata:
            return True
        labels = json.loads(task.metadata or "{}")
        return all(labels.get(name) == text for name, text in self.metadata.items())


ALL: Final = Filter()


def listed(
    ports: Ports,
    cursors: Cursors,
    principal: Principal,
    limit: int,
    cursor: str | None,
    wanted: Filter = ALL,
    keep: Retention = FOREVER,
) -> Page[Task]:
    """A page: 2 calls; by a filter up to 2 for each of `MAX_LOOKS`.

    It may be short or empty, but only the last one comes without a cursor. Of a task past its time
    it tells the end alone.
    """
    principal.require("tasks:read")
    owner, limit = principal.owner, min(limit, MAX_PAGE)
    start = cursors.open(list_of(owner, wanted), cursor) if cursor else wanted.start
    found: list[Task] = []
    for _ in range(MAX_LOOKS):
        page = ports.tasks.list_by_owner(owner, MAX_PAGE if wanted.leaves_out else limit, start)
        told = [shown(task, ports.now(), keep) for task in page.rows]
        start = _take(Page(told, page.next), wanted, limit, found)
        if start is None or len(found) == limit:
            break
    return Page(found, cursors.seal(list_of(owner, wanted), start) if start else None)


def list_of(owner: Owner, wanted: Filter = ALL) -> str:
    """What a cursor of this list is bound to: the route, the tenant, the user, the filter."""
    return json.dumps(["tasks", owner.tenant, owner.user, str(wanted)])


def _take(page: Page[Task], wanted: Filter, limit: int, found: list[Task]) -> str | None:
    """Add what fits to `found`; returns where to go on, None when there is no more."""
    for task in page.rows:
        if wanted.behind(task):
            return None
        if wanted.admits(task):
            found.append(task)
        if len(found) == limit:
            last = task.id == page.rows[-1].id
            return page.next if last else task.id
    return page.next
