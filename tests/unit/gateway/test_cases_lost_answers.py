"""An end that was written although its answer was lost is no late result (B58)."""

from __future__ import annotations

import pytest

from taskgate.errors import Unavailable
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.states import State
from taskgate.task import Task
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import claimed, gateway, submitted


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def test_a_success_whose_answer_was_lost_is_no_late_result(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submitted(world)
    held, real = claimed(world), world.tasks.apply

    def applied_unheard(change: Change) -> Task:
        real(change)
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.tasks, "apply", applied_unheard)
        with pytest.raises(Unavailable):
            gateway(world).succeed(held, [], "{}")
    assert gateway(world).succeed(held, [], "{}").state is State.SUCCEEDED
    told = [entry.reason for entry in world.tasks.tasks[task.id].history]
    assert not any("refused" in reason for reason in told)
    assert world.lanes.total() == 0
