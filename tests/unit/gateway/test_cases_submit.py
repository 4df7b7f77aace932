"""Cases of other projects about submits, sends and what an accepted task was promised (B01, B05, B10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import Refused, TooManyPendingTasks, Unavailable
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Held
from taskgate.lifecycle.states import State
from taskgate.task import Task
from taskgate.testing.factories import OWNER
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import (
    ENVIRONMENT,
    LANE,
    WHO,
    claimed,
    gateway,
    submitted,
)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def sweep(world: MemoryWorld) -> sweeping.Report:
    return sweeping.sweep(world.ports, range(world.clock_shards), world.clock() + 55_000)


def worked_off(world: MemoryWorld) -> int:
    """One worker takes what waits, until nothing does."""
    done = 0
    while found := world.lanes.receive(LANE):
        held = gateway(world).claim(found[0])
        if isinstance(held, Held):
            gateway(world).succeed(held, [], None)
            done += 1
    return done


def test_tasks_taken_in_while_the_queue_is_away_for_3_minutes_are_counted_and_all_end(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.lanes, "send", away)
        tasks = [submitted(world) for _ in range(20)]
        assert {task.state for task in tasks} == {State.CREATED}
        for _ in range(3):
            world.clock.advance(60)
            report = sweep(world)
            # The backlog is seen, by number and by age.
            assert report.counts == {"unavailable": 20}
            assert report.oldest_overdue_ms >= 30_000
    world.clock.advance(60)
    assert sweep(world).counts == {"send": 20}
    assert worked_off(world) == 20
    books = world.tasks.ledger(OWNER)
    assert (books.succeeded, books.active, world.lanes.total()) == (20, frozenset(), 0)


def test_a_deploy_changes_nothing_of_what_an_accepted_task_was_promised(world: MemoryWorld) -> None:
    before = submitted(world)
    deployed = replace(ENVIRONMENT, lease=90, beat=30, stall_grace=600, send_check=300)
    request = SubmitRequest(type="embed_document", input={"text": "hello"})
    after = submitting.submit(world.ports, CATALOG, deployed, WHO, request).task
    assert after.limits.lease == 90_000
    assert world.tasks.tasks[before.id].limits == before.limits
    assert before.limits.lease == 45_000


def test_a_place_is_given_free_once_though_two_workers_ended_the_task(world: MemoryWorld) -> None:
    one = replace(WHO, max_pending=1)

    def submit() -> Task:
        request = SubmitRequest(type="embed_document", input={"text": "hello"})
        return submitting.submit(world.ports, CATALOG, ENVIRONMENT, one, request).task

    task, old = submit(), claimed(world, "w1")
    world.lanes.queues[LANE].clear()
    for _ in range(3):
        world.clock.advance(60)
        sweep(world)
    new = claimed(world, "w2")
    assert new.task.attempt == 2
    with pytest.raises(Refused):
        gateway(world, "w1").succeed(old, [], None)
    with pytest.raises(TooManyPendingTasks):
        submit()
    gateway(world, "w2").succeed(new, [], None)
    books = world.tasks.ledger(OWNER)
    assert (books.active, books.succeeded, books.balanced) == (frozenset(), 1, True)
    assert submit().id != task.id
