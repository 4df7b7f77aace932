"""Redrive: find what ended badly, over all tenants, and give it another life in small batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import IllegalTransition, TaskgateError, Unavailable, VerbNotAllowed
from taskgate.events import swallowed
from taskgate.gateway.steer import operating
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.shards import PROBLEM_SHARDS
from taskgate.task import Task

PAGE: Final = 100
BATCH: Final = 10
PAUSE_SECONDS: Final = 1.0
"""Between batches: what failed together must not start again together."""
DAY_MS: Final = 86_400_000
REOPENED: Final = "reopened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tasks: ended badly not before `since` (epoch ms), of a type, with an error code."""

    since: int
    type: str | None = None
    code: ErrorCode | None = None

    def fits(self, task: Task) -> bool:
        return (
            task.state in (State.FAILED, State.TIMED_OUT)
            and (task.ended_at or 0) >= self.since
            and self.type in (None, task.type)
            and (self.code is None or (task.error is not None and task.error.code is self.code))
        )


@dataclass(frozen=True, slots=True)
class Redriven:
    """One task and what became of it."""

    task_id: str
    outcome: str


def found(ports: Ports, wanted: Wanted) -> Iterator[Task]:
    """The tasks that fit, day by day, the latest first. The index is a hint; each is read again."""
    for day in _days(wanted.since, ports.now()):
        for shard in range(PROBLEM_SHARDS):
            for task_id in _listed(ports, day, shard):
                task = ports.tasks.get(task_id)
                if task is not None and wanted.fits(task):
                    yield task


def redrive(
    ports: Ports,
    catalog: Catalog,
    who: Principal,
    ids: Sequence[str],
    reason: str,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Redriven]:
    """Reopen each in turn; one that cannot be reopened does not stop the others."""
    for number, task_id in enumerate(ids):
        if number and number % BATCH == 0:
            sleep(PAUSE_SECONDS)
        yield Redriven(task_id, _reopened(ports, catalog, who, task_id, reason))


def _reopened(ports: Ports, catalog: Catalog, who: Principal, task_id: str, reason: str) -> str:
    try:
        operating.reopen(ports, catalog, who, task_id, reason)
    except IllegalTransition as error:
        return f"left: it is {error.state}"
    except VerbNotAllowed as error:
        return f"left: {error}"
    except Unavailable as error:
        swallowed("redrive_failed", error, task=task_id)
        return "left: the table was busy"
    except TaskgateError as error:
        return f"left: {error}"
    return REOPENED


def _days(since: int, now: int) -> Iterable[str]:
    first, last = since // DAY_MS, now // DAY_MS
    for number in range(last, first - 1, -1):
        yield time.strftime("%Y-%m-%d", time.gmtime(number * 86_400))


def _listed(ports: Ports, day: str, shard: int) -> Iterator[str]:
    start: str | None = None
    while True:
        page = ports.tasks.problems(day, shard, PAGE, start)
        yield from (problem.task_id for problem in page.rows)
        start = page.next
        if start is None:
            return
