"""Take-overs that cases of other projects were about (docs/explanation/cases.md)."""

from __future__ import annotations

import pytest

from taskgate.errors import LeaseLost
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Released
from taskgate.lifecycle.states import State
from taskgate.task import Task
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import claimed, gateway, received, submitted


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def suspected(world: MemoryWorld, task: Task) -> None:
    """A lease passes without a beat, and the sweep is the first to see it."""
    world.clock.advance(45)
    sweeping.sweep(world.ports, range(world.clock_shards), world.clock() + 55_000)
    assert world.state(task.id) is State.STALLED


def test_a_dead_workers_task_is_taken_over_as_fast_when_the_sweep_suspected_it_first(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    claimed(world, "w1")
    suspected(world, task)
    assert claimed(world, "w2").task.attempt == 2


def test_a_suspect_whose_worker_beats_is_not_taken(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world, "w1")
    suspected(world, task)
    gateway(world, "w1").report(held, 0.1, "parse")
    assert isinstance(gateway(world, "w2").claim(received(world)), Released)
    assert world.tasks.tasks[task.id].attempt == 1


def test_a_worker_that_comes_back_after_the_end_learns_from_the_pulse_that_it_lost(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    late = claimed(world, "w1")
    suspected(world, task)
    second = claimed(world, "w2")
    gateway(world, "w2").report(second, 0.5, "embed")
    gateway(world, "w2").succeed(second, [], None)
    with pytest.raises(LeaseLost):
        gateway(world, "w1").report(late, 0.2, "parse")
    # Why the clean-up leaves the pulse to its TTL: without it the late worker would compute on.
    del world.pulses.pulses[task.id]
    assert gateway(world, "w1").report(late, 0.2, "parse") is None
