"""What those see who look after others' tasks: any by its id, and over all tenants those that are
unsettled and those that ended badly.

The lists walk the shards of an index one after the other, so that they cost what they show and never
what is on record. The index is a hint; each task is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from taskgate.errors import BadCursor, LedgerNotFound
from taskgate.gateway.views.reading import View, visible
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import ENDED, State
from taskgate.ports import Due, Ledger, Page, Ports, Problem
from taskgate.principal import Principal
from taskgate.shards import PROBLEM_SHARDS
from taskgate.task import Owner, Task

MAX_LOOKS: Final = 40
"""Pages of the index that one answer may cost: one for each shard of both kinds of clock, and more."""
AFTER_ALL: Final = 2**53
"""Later than any clock."""
Look = Callable[[int, str | None], Page[Due] | Page[Problem]]
"""A page of one shard by its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which tasks. What is not given does not count."""

    states: frozenset[State] = frozenset()
    tenant: str | None = None
    type: str | None = None
    code: ErrorCode | None = None

    def admits(self, task: Task) -> bool:
        """Whether the task is one of those."""
        return (
            (not self.states or task.state in self.states)
            and self.tenant in (None, task.owner.tenant)
            and self.type in (None, task.type)
            and (self.code is None or (task.error is not None and task.error.code is self.code))
        )

    def __str__(self) -> str:
        """The same text for the same tasks, however they were asked for."""
        return repr((sorted(self.states), self.tenant, self.type, self.code))


def found(ports: Ports, who: Principal, task_id: str) -> View:
    """The task with its pulse, whoever owns it: 1 call. Its time to be told of does not count."""
    who.require("admin")
    task, pulse = ports.tasks.get_with_pulse(task_id)
    task = visible(task, who)
    return View(task, pulse if pulse and pulse.attempt == task.attempt else None)


def books(ports: Ports, who: Principal, owner: Owner) -> Ledger:
    """The books of a user; one of whom there is nothing in them, or who is not the asker's to look
    after, has none.
    """
    who.require("admin")
    ledger = ports.tasks.ledger(owner) if who.manages(owner) else Ledger()
    if ledger == Ledger():
        raise LedgerNotFound
    return ledger


def unsettled(
    ports: Ports, who: Principal, shards: int, sought: Sought, limit: int, start: str | None = None
) -> Page[Task]:
    """Tasks with a clock: those that live, then those that ended and owe something still."""
    who.require("operator")
    live = not sought.states or bool(sought.states - ENDED)
    owed = not sought.states or bool(sought.states & ENDED)
    first, last = (0 if live else shards), (2 * shards if owed else shards)

    def look(shard: int, after: str | None) -> Page[Due]:
        if shard < shards:
            return ports.tasks.due(shard, AFTER_ALL, limit, after)
        return ports.tasks.owed(shard - shards, AFTER_ALL, limit, after)

    return _walked(ports, range(first, last), look, sought, start)


def problems(
    ports: Ports, who: Principal, day: str, sought: Sought, limit: int, start: str | None = None
) -> Page[Task]:
    """Tasks that failed or timed out on a UTC day (``YYYY-MM-DD``), of each shard the latest first."""
    who.require("operator")

    def look(shard: int, after: str | None) -> Page[Problem]:
        return ports.tasks.problems(day, shard, limit, after)

    return _walked(ports, range(PROBLEM_SHARDS), look, sought, start)


def _walked(
    ports: Ports, shards: range, look: Look, sought: Sought, start: str | None
) -> Page[Task]:
    """Shard by shard, until a page is not empty or the looks are spent: 2 calls for what it shows.

    A page of the index is shown whole or not at all, so it goes on exactly where it ended.
    """
    shard, after = _place(shards, start)
    rows: list[Task] = []
    for _ in range(MAX_LOOKS):
        page = look(shard, after)
        rows = list(_admitted(ports, page.rows, sought))
        shard, after = (shard, page.next) if page.next else (shard + 1, None)
        if rows or shard not in shards:
            break
    return Page(rows, f"{shard}:{after or ''}" if shard in shards else None)


def _admitted(
    ports: Ports, rows: Sequence[Due] | Sequence[Problem], sought: Sought
) -> Iterator[Task]:
    ids = [row.task_id for row in rows]
    known = ports.tasks.get_many(ids) if ids else {}
    return (known[i] for i in ids if i in known and sought.admits(known[i]))


def _place(shards: range, start: str | None) -> tuple[int, str | None]:
    if start is None:
        return shards.start, None
    shard, _, after = start.partition(":")
    if not shard.isdecimal() or int(shard) not in shards:
        raise BadCursor  # sealed by us, before a deploy with fewer shards
    return int(shard), after or None
