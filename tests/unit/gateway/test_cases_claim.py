"""A store that is away right after a claim costs the task a moment, never its crash budget."""

from __future__ import annotations

import pytest

from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import claimed, gateway, received, submitted


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def test_a_task_whose_input_cannot_be_read_for_minutes_runs_in_the_end(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> str:
        raise Unavailable

    task = submitted(world)
    with monkeypatch.context() as patch:
        patch.setattr(world.tasks, "get_input", away)
        for _ in range(5):
            delivery = received(world)
            with pytest.raises(Unavailable):
                gateway(world).claim(delivery)
            world.lanes.hide(delivery, 5)  # as the supervisor does
            assert world.state(task.id) is State.QUEUED
            world.clock.advance(5)
    held = claimed(world)
    assert held.input is not None
    assert held.task.budgets.crashes.spent == 0
    assert held.task.budgets.interruptions.spent == 5


def test_a_claim_that_cannot_be_undone_either_is_left_to_its_lease(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, real = submitted(world), world.tasks.apply

    def away(*_: object) -> str:
        monkeypatch.setattr(world.tasks, "apply", away)
        raise Unavailable

    monkeypatch.setattr(world.tasks, "get_input", away)
    with pytest.raises(Unavailable):
        gateway(world).claim(received(world))
    monkeypatch.undo()
    assert world.tasks.apply == real
    assert world.state(task.id) is State.PROCESSING
    world.clock.advance(46)
    assert claimed(world, "w2").task.attempt == 2
