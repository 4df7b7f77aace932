"""Cases of other projects about ends: late writers, sweeps that lag, signals that fail (B12, B20, B23)."""

from __future__ import annotations

import pytest

from taskgate.errors import Refused, Unavailable
from taskgate.gateway.steer import operating, steering
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.views import reading
from taskgate.gateway.work.worker import Released
from taskgate.lifecycle.states import State
from taskgate.ports import Due, Message, Pulse, Signal
from taskgate.task import CancelMode, Task
from taskgate.testing.factories import OWNER
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import (
    BROKEN,
    LANE,
    WHO,
    claimed,
    gateway,
    received,
    submitted,
)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def sweep(world: MemoryWorld) -> sweeping.Report:
    return sweeping.sweep(world.ports, range(world.clock_shards), world.clock() + 55_000)


def test_a_sweep_frozen_between_its_read_and_its_write_does_not_undo_a_success(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submitted(world)
    held = claimed(world)
    world.clock.advance(50)
    real = world.tasks.get_with_pulse

    def then_it_ends(task_id: str) -> tuple[Task | None, Pulse | None]:
        found = real(task_id)
        gateway(world).succeed(held, [], None)
        return found

    monkeypatch.setattr(world.tasks, "get_with_pulse", then_it_ends)
    assert sweeping.look(world.ports, Due(task.id, 0)) == "outrun"
    assert world.state(task.id) is State.SUCCEEDED
    assert world.tasks.ledger(OWNER).succeeded == 1


def test_whatever_comes_after_an_enforced_cancel_is_refused(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    world.clock.advance(60)
    assert sweep(world).counts == {"stop": 1}
    world.lanes.send(LANE, Message(task.id, 0))
    assert isinstance(gateway(world, "w2").claim(received(world)), Released)
    assert gateway(world).report(held, 0.5, "late") == Signal("lost", 1)
    for late in (
        lambda: gateway(world).succeed(held, [], None),
        lambda: gateway(world).fail(held, BROKEN),
        lambda: gateway(world).hand_back(held, "half"),
        lambda: gateway(world).extend(held, 60),
        lambda: gateway(world).stopped(held),
    ):
        with pytest.raises(Refused):
            late()
    seen = reading.view(world.ports, WHO, task.id)
    assert (seen.task.state, seen.progress) == (State.CANCELED, 0.0)
    assert world.tasks.ledger(OWNER).canceled == 1


def test_a_cancel_whose_word_to_the_worker_fails_is_on_record_and_repeated(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submitted(world)
    held = claimed(world)

    def away(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.pulses, "signal", away)
        asked = steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    assert asked.state is State.CANCELING
    for _ in range(2):
        world.clock.advance(15)
        assert gateway(world).beat(held, 0.1, "parse") is None
    sweep(world)
    signal = gateway(world).beat(held, 0.1, "parse")
    assert signal == Signal("cancel_hard", 1)
    assert gateway(world).stopped(held).state is State.CANCELED


def test_a_soft_cancel_of_a_run_that_was_extended_is_heard(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    operating.extend(world.ports, WHO, task.id, 60)
    assert gateway(world).beat(held, 0.1, "parse") == Signal("deadline", 1)
    steering.cancel(world.ports, WHO, task.id, CancelMode.SOFT)
    assert gateway(world).beat(held, 0.2, "parse") == Signal("cancel_soft", 1)
    pulse = world.pulses.get(task.id)
    assert pulse
    assert pulse.seen_at("cancel_soft") == world.clock()


def test_a_cancel_that_cannot_be_recorded_tells_nobody_to_stop(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submitted(world)
    held = claimed(world)

    def away(*_: object) -> Task:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.tasks, "apply", away)
        with pytest.raises(Unavailable):
            steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    assert gateway(world).beat(held, 0.1, "parse") is None
    assert gateway(world).succeed(held, [], None).state is State.SUCCEEDED
