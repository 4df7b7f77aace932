"""Two sweeps, two repairs, at the same moment on the same rows: each row is acted on once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest

from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.states import State, Verb
from taskgate.testing.conformance.audit import AuditWorld
from tests.unit.test_dynamo_audit import audited

R = TypeVar("R")
_NUMBERS = itertools.count(1)


@pytest.fixture
def world() -> AuditWorld:
    """Tables of its own: a sweep looks at everything that is due."""
    return audited(f"once{next(_NUMBERS)}")


def at_once(act: Callable[[], R], copies: int = 2) -> list[R]:
    barrier = Barrier(copies)

    def started() -> R:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(copies) as pool:
        return [future.result() for future in [pool.submit(started) for _ in range(copies)]]


def test_two_sweeps_at_the_same_moment_rescue_each_of_100_stale_tasks_once(
    world: AuditWorld,
) -> None:
    long_ago = world.ports.now() - 600_000
    tasks = [world.new(State.STALLED, since=long_ago, started_at=long_ago) for _ in range(100)]
    stop_at = world.ports.now() + 60_000
    shards = range(world.clock_shards)
    reports = at_once(lambda: sweeping.sweep(world.ports, shards, stop_at))
    assert sum(report.counts["rescue"] for report in reports) == 100
    for task in tasks:
        after = world.ports.tasks.get(task.id)
        assert after is not None
        assert (after.state, after.budgets.crashes.spent) == (State.QUEUED, 1)
        assert [e.verb for e in after.history].count(Verb.RESCUE) == 1


def test_two_repairs_at_the_same_moment_repair_a_drift_once(world: AuditWorld) -> None:
    world.new()
    world.drift(submitted=4)
    at_once(lambda: world.reconcile(apply=True), copies=4)
    assert world.ports.tasks.ledger(world.owner).submitted == 1
    assert world.reconcile().differences == []
