"""A canceled task stops being computed, and only then is it canceled."""

from __future__ import annotations

import time
from pathlib import Path

from worker_world import WorkerWorld, until

from taskgate.lifecycle.states import State
from taskgate.ports import Pulse


def test_a_tight_loop_that_swallows_the_cancel_is_killed_within_the_grace(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("ignore_cancel")
    world.start()
    world.wait_stage(task_id, "looping")
    began = time.monotonic()
    assert world.cancel(task_id, "hard").state is State.CANCELING
    assert world.wait_ended(task_id).state is State.CANCELED
    assert time.monotonic() - began < world.environment.cancel_grace
    after = world.submit("echo")
    assert world.wait_ended(after).state is State.SUCCEEDED


def test_a_run_that_hears_the_cancel_cleans_up_and_its_child_lives_on(
    world: WorkerWorld, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    before = world.submit("echo")
    world.start()
    world.wait_ended(before)
    task_id = world.submit("clean_up_on_cancel", text=str(note))
    world.wait_stage(task_id, "reporting")
    world.cancel(task_id, "hard")
    assert world.wait_ended(task_id).state is State.CANCELED
    assert note.read_text() == "cleaned up"
    after = world.submit("echo")
    world.wait_ended(after)
    assert world.output(after)["pid"] == world.output(before)["pid"]


def test_canceling_a_task_that_waits_leaves_the_running_one_alone(world: WorkerWorld) -> None:
    running = world.submit("echo", seconds=1.5)
    world.start()
    world.wait_for(running, State.PROCESSING)
    waiting = world.submit("echo")
    assert world.cancel(waiting, "hard").state is State.CANCELED
    assert world.wait_ended(running).state is State.SUCCEEDED
    until(lambda: world.memory.lanes.total() == 0)
    assert world.task(waiting).attempt == 0


def test_a_soft_cancel_lets_the_run_end_and_keeps_its_result_for_the_next_same_submit(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("echo", seconds=1.0)
    world.start()
    world.wait_for(task_id, State.PROCESSING)
    world.cancel(task_id, "soft")
    task = world.wait_ended(task_id)
    assert (task.state, task.result, task.output) == (State.CANCELED, (), None)
    assert task.cancel is not None
    assert task.cancel.seen_at is not None
    again = world.task(world.submit("echo", seconds=1.0))
    assert (again.state, again.reused_from, again.attempt) == (State.SUCCEEDED, task_id, 0)
    assert again.output is not None


def test_a_soft_cancel_that_is_made_hard_stops_the_run(world: WorkerWorld) -> None:
    task_id = world.submit("report_for_ever")
    world.start()
    world.wait_stage(task_id, "reporting")
    world.cancel(task_id, "soft")
    until(lambda: bool(world.events.named("signaled")))
    world.cancel(task_id, "hard")
    task = world.wait_ended(task_id)
    assert (task.state, task.kept_until) == (State.CANCELED, None)
    assert task.cancel is not None
    assert (task.cancel.mode, task.cancel.enforced) == ("hard", False)
    assert task.cancel.at <= (task.cancel.seen_at or 0) <= (task.cancel.stopped_at or 0)


def test_a_cancel_that_comes_while_the_result_is_written_wins(world: WorkerWorld) -> None:
    task_id = world.submit("echo")
    put = world.memory.results.put

    def cancel_then_put(key: str, path: str, content_type: str) -> bool:
        world.cancel(task_id, "hard")
        return put(key, path, content_type)

    world.memory.results.put = cancel_then_put  # type: ignore[method-assign]
    world.start()
    assert world.wait_ended(task_id).state is State.CANCELED


def test_a_worker_that_lost_its_lease_stops_the_run_and_writes_nothing(world: WorkerWorld) -> None:
    task_id = world.submit("report_for_ever")
    world.start()
    world.wait_stage(task_id, "reporting")
    now = world.memory.ports.now()
    with world.memory.pulses.lock:
        newer = Pulse(task_id=task_id, attempt=2, worker="other", beat_at=now)
        world.memory.pulses.pulses[task_id] = newer
    until(lambda: bool(world.events.named("lease_lost")))
    version = world.task(task_id).version
    after = world.submit("echo")
    assert world.wait_ended(after).state is State.SUCCEEDED
    assert world.task(task_id).version == version
