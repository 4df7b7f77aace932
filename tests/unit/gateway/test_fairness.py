"""Fairness: what a tenant waits for one task beside another tenant's thousand, as `make fairness` prints.

Simulated seconds. Four workers, runs of ten seconds, and each worker looks at most at 25 messages a
second: a look that finds a full cap is a receive and a put-back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from taskgate.catalog import CATALOG
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.gateway.work.claiming import Held
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.plans import OPERATOR
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.lanes import MemoryLanes
from tests.unit.functions.api_world import ENVIRONMENT

LANE = "cpu-normal"
WORKERS, RUN, LOOKS, STEP = 4, 10.0, 5, 0.2
BACKLOG = 1000
PATIENCE = 4000
RESTS = (1.0, 33.0, 17.6, 23.4, 41.8)
"""Seconds before each small task: the first comes right behind the thousand."""


@dataclass
class Worker:
    gateway: WorkerGateway
    held: Held | None = None
    free_at: float = 0.0


class Fleet:
    """Workers that take turns; a turn is a start."""

    def __init__(self, *, groups: bool, cap: int | None) -> None:
        self.world = MemoryWorld()
        self.lanes = MemoryLanes(self.world.clock, ENVIRONMENT.lease, fair=groups)
        self.ports: Ports = replace(self.world.ports, lanes=self.lanes)
        self.plan = replace(OPERATOR, submits_per_minute=None, max_processing=cap)
        draws = (n / 7 % 1 for n in range(10**9))
        self.workers = [
            Worker(WorkerGateway(self.ports, CATALOG, ENVIRONMENT, f"w{n}", draws.__next__))
            for n in range(WORKERS)
        ]
        self.now = 0.0

    def submit(self, tenant: str) -> str:
        who = Principal(Owner(tenant, "u"), SCOPES, 10 * BACKLOG, "k", self.plan)
        request = SubmitRequest(type="embed_document", input={"text": "x"})
        return submit(self.ports, CATALOG, ENVIRONMENT, who, request).task.id

    def step(self) -> list[str]:
        """The tasks that start in this step."""
        started = [task_id for worker in self.workers for task_id in self._turn(worker)]
        self.now += STEP
        self.world.clock.advance(STEP)
        return started

    def _turn(self, worker: Worker) -> Iterator[str]:
        if worker.held and self.now >= worker.free_at:
            worker.gateway.succeed(worker.held, [], "{}")
            worker.held = None
        for _ in range(LOOKS):
            if worker.held or not (found := self.lanes.receive(LANE)):
                return
            outcome = worker.gateway.claim(found[0])
            if isinstance(outcome, Held):
                worker.held, worker.free_at = outcome, self.now + RUN
                yield outcome.task.id


def _worst(*, backlog: int, groups: bool = True, cap: int | None = 2) -> tuple[float, int]:
    """Of small tasks submitted at some moments of one life: the longest wait in seconds, and the
    most starts of others in between.
    """
    fleet = Fleet(groups=groups, cap=cap)
    for _ in range(backlog):
        fleet.submit("big")
    waits = [_waited(fleet, rest) for rest in RESTS]
    return max(seconds for seconds, _ in waits), max(turns for _, turns in waits)


def _waited(fleet: Fleet, rest: float) -> tuple[float, int]:
    for _ in range(round(rest / STEP)):
        fleet.step()
    began, turns = fleet.now, 0
    mine = fleet.submit("small")
    while fleet.now < PATIENCE:
        started = fleet.step()
        if mine in started:
            return fleet.now - began, turns + started.index(mine)
        turns += len(started)
    raise AssertionError("it never started")


@pytest.fixture(scope="module")
def alone() -> float:
    seconds, turns = _worst(backlog=0)
    assert turns == 0
    return seconds


WAYS = {
    "groups and cap": (True, 2, 1.0, 1),
    "groups alone": (True, None, RUN + STEP, WORKERS),
    "cap alone": (False, 2, 45.0, 10),
}
"""How tenants are kept apart; the most seconds and turns that the small one may then wait."""


@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_tasks_of_one_tenant_delay_anothers_by_a_bounded_number_of_turns(
    way: str, alone: float
) -> None:
    groups, cap, most_seconds, most_turns = WAYS[way]
    seconds, turns = _worst(backlog=BACKLOG, groups=groups, cap=cap)
    print(  # noqa: T201 - a figure to quote
        f"fairness: {way}: alone {alone:.1f} s, beside {BACKLOG} of another tenant {seconds:.1f} s,"
        f" ratio {seconds / alone:.0f}, after {turns} other starts"
    )
    assert seconds <= most_seconds
    assert turns <= most_turns


def test_without_either_the_small_tenant_would_wait_for_the_whole_backlog(alone: float) -> None:
    seconds, turns = _worst(backlog=100, groups=False, cap=None)
    print(  # noqa: T201 - a figure to quote
        f"fairness: neither: alone {alone:.1f} s, beside 100 of another tenant {seconds:.1f} s,"
        f" ratio {seconds / alone:.0f}, after {turns} other starts"
    )
    assert turns > 50
