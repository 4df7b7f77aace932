"""Where the tasks of a bulk act are found: by an index each, page by page, and each is read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from taskgate.bulks import FITTING, Bulk, BulkAct, Wanted
from taskgate.errors import FieldProblem, InvalidRequest, Unavailable
from taskgate.events import swallowed
from taskgate.gateway.stamps import first_task_id
from taskgate.lifecycle.states import LIVE
from taskgate.ports import Page, Ports
from taskgate.shards import PROBLEM_SHARDS
from taskgate.task import Owner

PAGE: Final = 20
DAY_MS: Final = 86_400_000
FOREVER: Final = 2**53
LONGEST_DAYS: Final = 90
Part = Callable[[str | None], Page[str]]
"""One part of an index: gives a page of task ids."""


def checked(act: BulkAct, wanted: Wanted, now: int) -> Wanted:
    """The filter with the states that know the act; `InvalidRequest` when no index can serve it."""
    states = (wanted.states or FITTING[act]) & FITTING[act]
    if not states:
        raise _wrong("states", f"a task in these cannot {act}")
    if wanted.user and not wanted.tenant:
        raise _wrong("tenant", "of which tenant is the user?")
    given = (wanted.tenant, wanted.type, wanted.since, wanted.until, wanted.code, wanted.day)
    if not (any(given) or wanted.states):
        raise _wrong("filter", "name at least one thing: this would be every task")
    if not (wanted.owner or states <= LIVE or states <= FITTING[BulkAct.REOPEN]):
        raise _wrong("states", "failed and timed_out only, unless tenant and user are given")
    if wanted.day is not None:
        _day_at(wanted.day)
    elif not wanted.owner and not states <= LIVE:
        since = wanted.since
        if since is None or since < now - LONGEST_DAYS * DAY_MS:
            raise _wrong("since", f"at most {LONGEST_DAYS} days ago; or give the day")
    return wanted


def due(ports: Ports) -> Sequence[str]:
    """Ids of the bulk acts that are to be worked on now: 1 call."""
    try:
        return ports.bulks.due_bulks(ports.now()) if ports.bulks else []
    except Unavailable as error:
        swallowed("bulk_put_off", error)
        return []


def parts(ports: Ports, bulk: Bulk, shards: int) -> Sequence[Part]:
    """The parts of the index that the tasks are in, always in the same order."""
    wanted = bulk.wanted
    if wanted.owner and wanted.day is None:
        return [_owned(ports, wanted.owner, wanted)]
    if wanted.states <= LIVE:
        return [_live(ports, shard) for shard in range(shards)]
    return [_problems(ports, day, shard) for day in _days(bulk) for shard in range(PROBLEM_SHARDS)]


def _owned(ports: Ports, owner: Owner, wanted: Wanted) -> Part:
    newest = None if wanted.until is None else first_task_id(wanted.until)

    def page(start: str | None) -> Page[str]:
        found = ports.tasks.list_by_owner(owner, PAGE, start or newest)
        return Page([task.id for task in found.rows], found.next)

    return page


def _live(ports: Ports, shard: int) -> Part:
    def page(start: str | None) -> Page[str]:
        found = ports.tasks.due(shard, FOREVER, PAGE, start)
        return Page([due.task_id for due in found.rows], found.next)

    return page


def _problems(ports: Ports, day: str, shard: int) -> Part:
    def page(start: str | None) -> Page[str]:
        found = ports.tasks.problems(day, shard, PAGE, start)
        return Page([problem.task_id for problem in found.rows], found.next)

    return page


def _days(bulk: Bulk) -> Sequence[str]:
    if bulk.wanted.day is not None:
        return [bulk.wanted.day]
    # A task ends no earlier than it was created; what ends after the plan was not in it.
    first, last = (bulk.wanted.since or 0) // DAY_MS, bulk.planned_at // DAY_MS
    numbers = range(last, first - 1, -1)
    return [time.strftime("%Y-%m-%d", time.gmtime(number * 86_400)) for number in numbers]


def _day_at(day: str) -> None:
    try:
        time.strptime(day, "%Y-%m-%d")
    except ValueError:
        raise _wrong("day", "a UTC day like 2026-11-29") from None


def _wrong(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(fields=[FieldProblem(field, message)])
