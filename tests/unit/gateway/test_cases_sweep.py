"""What could starve the sweep: a record that breaks it, a shard that always comes last."""

from __future__ import annotations

import pytest

from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.states import State
from taskgate.ports import Message
from taskgate.testing.factories import task_in
from taskgate.testing.memory import MemoryWorld

SHARDS = range(16)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def sweep(world: MemoryWorld) -> sweeping.Report:
    return sweeping.sweep(world.ports, SHARDS, world.clock() + 55_000)


def test_a_record_that_breaks_the_sweep_does_not_keep_it_from_the_others(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = task_in(State.QUEUED, at=world.clock(), lane="retired-normal")
    later = [task_in(State.QUEUED, at=world.clock() + number) for number in range(1, 51)]
    world.tasks.tasks |= {task.id: task for task in (broken, *later)}
    real = world.lanes.send

    def send(lane: str, message: Message, delay: int = 0) -> None:
        if lane == "retired-normal":
            raise KeyError(lane)
        real(lane, message, delay)

    monkeypatch.setattr(world.lanes, "send", send)
    world.clock.advance(200)
    assert sweep(world).counts == {"send": 50, "broken": 1}
    world.clock.advance(1_700)
    sweep(world)
    assert world.state(broken.id) is State.TIMED_OUT


def test_no_clock_shard_comes_last_in_every_minute_when_time_is_short(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []

    def noted(_: object, shard: int, stop_at: int, switches: object) -> sweeping.Report:
        del stop_at, switches
        seen[-1].append(shard)
        return sweeping.Report()

    monkeypatch.setattr(sweeping, "sweep_shard", noted)
    monkeypatch.setattr(sweeping, "THREADS", 1)
    for _ in SHARDS:
        seen.append([])
        sweep(world)
        world.clock.advance(60)
    assert all(sorted(run) == list(SHARDS) for run in seen)
    assert {run[-1] for run in seen} == set(SHARDS)
