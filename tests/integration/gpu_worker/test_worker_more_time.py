"""A run gets more time when it asks, or when its owner says so, and never more than its type allows."""

from __future__ import annotations

from typing import Any

from worker_world import WHO, WorkerWorld, until

from taskgate.errors import Unavailable
from taskgate.gateway.steer import operating
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.task import Task


def verbs(task: Task) -> list[Verb]:
    return [entry.verb for entry in task.history]


def test_a_run_that_asks_in_each_step_outlives_its_limit_for_a_single_write(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("extend", kind="brief", seconds=4.0, text="4.5")
    world.start()
    task = world.wait_ended(task_id)
    assert (task.state, task.attempt) == (State.SUCCEEDED, 1)
    assert verbs(task).count(Verb.EXTEND) == 1
    assert world.output(task_id)["calls"] > 10
    assert 20 < world.output(task_id)["left"] <= 31


def test_no_extension_of_a_run_goes_beyond_what_its_type_allows(world: WorkerWorld) -> None:
    task_id = world.submit("extend", kind="capped", seconds=60.0, text="10")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.error.code) == (State.TIMED_OUT, ErrorCode.RUN_TIMEOUT)
    assert task.limits.run_timeout == 4000
    assert verbs(task).count(Verb.EXTEND) == 1


def test_an_extension_that_its_owner_made_after_the_last_beat_counts(world: WorkerWorld) -> None:
    task_id = world.submit("echo", kind="brief", seconds=4.0)
    world.start()
    world.wait_for(task_id, State.PROCESSING)
    operating.extend(world.memory.ports, WHO, task_id, 30)
    world.memory.pulses.pulses.pop(task_id)
    assert not world.events.named("signaled")
    assert world.wait_ended(task_id).state is State.SUCCEEDED


def test_the_run_sees_the_time_that_its_owner_gave(world: WorkerWorld) -> None:
    task_id = world.submit("watch_time", seconds=3600.0)
    world.start()
    world.wait_for(task_id, State.PROCESSING)
    operating.extend(world.memory.ports, WHO, task_id, 1900)
    operating.extend(world.memory.ports, WHO, task_id, 1900)
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    assert world.output(task_id)["first"] <= 1800
    assert world.output(task_id)["now"] > 5500


def test_a_run_whose_store_is_away_goes_on_with_the_time_that_it_has(world: WorkerWorld) -> None:
    apply = world.memory.tasks.apply

    def away(change: Any) -> Any:
        if change.verb == Verb.EXTEND:
            raise Unavailable
        return apply(change)

    world.memory.tasks.apply = away  # type: ignore[method-assign]
    task_id = world.submit("extend", seconds=3000.0, text="0.3")
    world.start()
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    assert world.output(task_id)["left"] < 1800
    assert world.events.named("not_extended")


def test_a_run_that_snoozes_is_called_again_later_and_pays_nothing(world: WorkerWorld) -> None:
    task_id = world.submit("snooze", seconds=1.0)
    world.start()
    task = world.wait_for(task_id, State.RETRYING)
    assert task.error is None
    task = world.wait_ended(task_id)
    snoozed = next(e.at for e in task.history if e.to is State.RETRYING)
    assert task.started_at is not None
    assert task.started_at - snoozed > 500
    assert (task.state, task.attempt) == (State.SUCCEEDED, 2)
    spent = [b.spent for b in (task.budgets.retries, task.budgets.crashes)]
    assert spent == [0, 0]
    until(lambda: world.memory.lanes.total() == 0)
    assert [e["cause"] for e in world.events.named("wasted")] == ["snoozed"]
