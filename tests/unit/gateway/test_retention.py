"""An accepted id is never unknown again: after its time it answers with its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgate.errors import ResultExpired, TaskExpired
from taskgate.gateway.door import submitting
from taskgate.gateway.views import reading
from taskgate.gateway.views.reading import DAY_MS
from taskgate.lifecycle.states import ENDED, State
from taskgate.settings import Retention, Stage
from taskgate.testing.factories import task_in
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import WHO, claimed, gateway, submitted

KEEP = Retention(results=30, records=90)


def test_a_result_is_told_of_for_its_time_and_then_known_to_be_gone(tmp_path: Path) -> None:
    del tmp_path
    world = MemoryWorld()
    task = submitted(world)
    gateway(world).succeed(claimed(world), [], "{}")
    world.clock.advance(30 * 24 * 3600 - 1)
    assert reading.finished(world.ports, WHO, task.id, KEEP).id == task.id
    world.clock.advance(2)
    with pytest.raises(ResultExpired):
        reading.finished(world.ports, WHO, task.id, KEEP)
    assert reading.view(world.ports, WHO, task.id, KEEP).task.state is State.SUCCEEDED


@pytest.mark.parametrize("state", sorted(ENDED))
def test_a_record_past_its_time_answers_with_its_end_and_never_as_unknown(state: State) -> None:
    world = MemoryWorld()
    task = task_in(state, at=world.clock())
    world.tasks.tasks[task.id] = task
    world.clock.advance(90 * 24 * 3600)
    with pytest.raises(TaskExpired) as gone:
        reading.view(world.ports, WHO, task.id, KEEP)
    assert (gone.value.status, gone.value.state) == (410, state)


def test_a_task_that_lives_is_told_of_however_old_it_is() -> None:
    world = MemoryWorld()
    task = task_in(State.QUEUED, at=world.clock() - 200 * DAY_MS)
    world.tasks.tasks[task.id] = task
    assert reading.view(world.ports, WHO, task.id, KEEP).task == task


def test_no_key_outlives_the_record_of_its_task() -> None:
    """A replay never leads to a task that is told of no more: it answers with the whole task."""
    least = Stage(name="least", result_days=1, record_days=1)
    assert least.record_days * DAY_MS >= submitting.IDEMPOTENCY_SECONDS * 1000
