"""What a task occupies is free again when it ends, however it ends: nothing is a bare counter."""

from __future__ import annotations

import pytest

from taskgate.errors import TooManyPendingTasks, Unavailable
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.retry import Budget, Budgets
from taskgate.lifecycle.states import State
from taskgate.ports import Due, Ledger, Pulse
from taskgate.principal import SCOPES, Principal
from taskgate.task import Task
from taskgate.testing.factories import OWNER, task_in
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_sweeping import put, sweep, sweep_for
from tests.unit.gateway.test_worker_gateway import CATALOG, ENVIRONMENT

ONE_AT_A_TIME = Principal(OWNER, SCOPES, 1, "key")
NO_CRASH_LEFT = Budgets(Budget(3), Budget(0), Budget(20))


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def submit(world: MemoryWorld) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": "hello"})
    return submitting.submit(world.ports, CATALOG, ENVIRONMENT, ONE_AT_A_TIME, request).task


def test_a_dead_holders_place_is_free_within_the_lease_the_grace_and_the_sweeps(
    world: MemoryWorld,
) -> None:
    task = put(world, task_in(State.PROCESSING, at=world.clock(), budgets=NO_CRASH_LEFT))
    world.tasks.books[OWNER, 0] = Ledger(active=frozenset({task.id}), submitted=1)
    with pytest.raises(TooManyPendingTasks):
        submit(world)
    sweep_for(world, 3 * 60)
    assert world.state(task.id) is State.FAILED
    assert submit(world).state is State.QUEUED


def test_a_stuck_task_is_counted_when_it_is_left_stalled_and_not_when_it_is_helped(
    world: MemoryWorld,
) -> None:
    put(world, task_in(State.PROCESSING, at=world.clock()))
    world.clock.advance(60)
    assert sweep(world).stuck == 1
    world.clock.advance(60)
    helped = sweep(world)
    assert (helped.counts, helped.stuck) == ({"rescue": 1}, 0)


def test_a_stalled_task_that_the_sweep_cannot_help_stays_counted(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable

    put(world, task_in(State.STALLED, at=world.clock()))
    monkeypatch.setattr(world.tasks, "apply", fails)
    for _ in range(3):
        world.clock.advance(60)
        assert sweep(world).stuck == 1


def test_the_sweep_tells_how_long_each_type_has_been_executing(world: MemoryWorld) -> None:
    for kind, started in (("ocr", 100), ("ocr", 200), ("video", 300)):
        at = world.clock() - started * 1000
        task = put(world, task_in(State.PROCESSING, at=at, type=kind))
        world.pulses.beat(Pulse(task_id=task.id, attempt=1, worker="w", beat_at=world.clock()))
    waiting = put(world, task_in(State.QUEUED, at=world.clock() - 300_000))
    report = sweep(world)
    assert sorted(report.executing["ocr"]) == [100.0, 200.0]
    assert report.executing["video"] == [300.0]
    assert set(report.executing) == {"ocr", "video"}
    assert sweeping.look(world.ports, Due(waiting.id, 0)) == "not_due"
