"""Whatever a model does to its process, the supervisor beats, notices, and says what happened."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from worker_world import WorkerWorld, until

from gpu_worker.child_process import Child
from gpu_worker.protocol import Cancel
from gpu_worker.supervisor import Supervisor
from taskgate.errors import BadSetting
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_a_segfault_is_reported_with_its_stack_and_the_next_task_runs(world: WorkerWorld) -> None:
    crash, after = world.submit("segfault"), world.submit("echo", text="after")
    world.start()
    task = world.wait_for(crash, State.RETRYING, State.FAILED)
    assert task.error is not None
    assert (task.error.code, task.error.error_class) == (
        ErrorCode.WORKER_CRASHED,
        ErrorClass.CRASH,
    )
    assert "SIGSEGV" in task.error.message
    assert "in segfault" in task.error.details
    assert world.wait_ended(after).state is State.SUCCEEDED


def test_a_task_that_kills_its_child_each_time_ends_when_its_crash_budget_is_spent(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("exit")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.attempt) == (State.FAILED, 2)
    assert "exit code 137; perhaps memory ran out" in task.error.message
    assert world.memory.lanes.total() == 0


def test_beats_go_on_while_the_model_holds_the_gil_for_longer_than_the_lease(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("hold_gil", seconds=4.5)
    world.start()
    world.start()
    task = world.wait_ended(task_id)
    assert (task.state, task.attempt) == (State.SUCCEEDED, 1)
    assert len(world.events.named("claimed")) == 1


def test_after_an_out_of_memory_error_the_next_task_gets_a_fresh_child(world: WorkerWorld) -> None:
    before = world.submit("echo", text="before")
    world.start()
    world.wait_ended(before)
    full = world.submit("out_of_memory")
    task = world.wait_for(full, State.RETRYING, State.FAILED)
    assert task.error is not None
    assert task.error.code is ErrorCode.OUT_OF_MEMORY
    after = world.submit("echo", text="after")
    assert world.wait_ended(after).attempt == 1
    assert world.output(after)["pid"] != world.output(before)["pid"]


def test_a_child_that_dies_while_idle_costs_no_task_an_attempt(world: WorkerWorld) -> None:
    world.start(watch=1)
    until(lambda: bool(world.events.named("child_ready")))
    os.kill(world.events.named("child_ready")[0]["pid"], 9)
    task = world.wait_ended(world.submit("echo", priority="low"))
    assert (task.state, task.attempt) == (State.SUCCEEDED, 1)
    assert len(world.events.named("child_died")) == 1


def test_an_enormous_error_text_is_cut_and_stored(world: WorkerWorld) -> None:
    task_id = world.submit("huge_traceback")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert task.error.message.startswith("RuntimeError: xxx")
    assert len(task.error.message.encode()) <= 500
    assert "in deep" in task.error.details
    assert len(task.error.details.encode()) <= 4000


def test_what_a_model_prints_does_not_break_the_protocol(world: WorkerWorld) -> None:
    task_id = world.submit("print_noise")
    world.start()
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    assert world.output(task_id) == {"said": "it"}


def test_what_the_child_started_dies_with_it(world: WorkerWorld, tmp_path: Path) -> None:
    note = tmp_path / "grandchild"
    task_id = world.submit("leave_family", text=str(note))
    world.start()
    world.wait_for(task_id, State.RETRYING, State.FAILED)
    grandchild = int(note.read_text())
    until(lambda: not alive(grandchild))
    assert not alive(grandchild)


def test_a_run_over_its_limit_is_killed_and_times_out(world: WorkerWorld) -> None:
    task_id = world.submit("ignore_cancel", kind="brief")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.error.code) == (State.TIMED_OUT, ErrorCode.RUN_TIMEOUT)
    assert task.attempt == 1
    after = world.submit("echo")
    assert world.wait_ended(after).state is State.SUCCEEDED


def test_a_setup_that_never_ends_fails_the_task_with_its_own_code(world: WorkerWorld) -> None:
    task_id = world.submit("echo", kind="endless")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.error.code) == (State.FAILED, ErrorCode.STARTUP_FAILED)
    assert "not ready within 1 s" in task.error.message


def test_a_setup_that_raises_fails_the_task_and_says_why(world: WorkerWorld) -> None:
    task_id = world.submit("echo", kind="broken")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert task.error.code is ErrorCode.STARTUP_FAILED
    assert "CUDA driver version is insufficient" in task.error.message


def test_a_worker_whose_models_cannot_load_claims_nothing_and_exits(world: WorkerWorld) -> None:
    world.start(preload=True, pool="hopeless")
    world.join()
    assert world.exit_codes == [3]
    assert "CUDA driver" in world.events.named("unfit")[0]["why"]


def test_an_unfit_host_claims_nothing_and_exits(world: WorkerWorld) -> None:
    task_id = world.submit("echo")
    world.start(checks=(lambda: "no GPU",))
    world.join()
    assert (world.exit_codes, world.task(task_id).attempt) == ([3], 0)
    assert world.events.named("unfit")[0]["why"] == "no GPU"


def test_fitness_is_proven_again_after_a_crash_before_anything_is_claimed(
    world: WorkerWorld,
) -> None:
    broken = []
    crash = world.submit("segfault")
    world.start(checks=(lambda: "the GPU fell off the bus" if broken else None,))
    until(lambda: bool(world.events.named("claimed")))
    broken.append(True)
    world.wait_for(crash, State.RETRYING, State.FAILED)
    world.join()
    assert world.exit_codes == [3]


@pytest.mark.parametrize(
    ("pool", "name"), [("gpu-typo", "TASKGATE_POOL"), ("chaos", "TASKGATE_LANES")]
)
def test_a_pool_without_types_or_lanes_is_refused_before_anything_starts(
    world: WorkerWorld, pool: str, name: str
) -> None:
    place = world.place(pool=pool)
    without = replace(place, environment=replace(place.environment, lanes={"other-high": "url"}))
    with pytest.raises(BadSetting, match=name):
        Supervisor(without)


def test_a_child_that_stops_listening_is_killed_and_said_to_be_dead(tmp_path: Path) -> None:
    (tmp_path / "child").mkdir()
    child = Child(tmp_path / "child")
    child._channel.close()
    child.send(Cancel(1))
    child._process.wait(60)
    assert child._process.returncode == -9
    child.kill()


def test_a_lane_whose_visibility_is_not_the_lease_is_refused_at_start(
    world: WorkerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = world.memory.lanes
    monkeypatch.setattr(type(lanes), "visibility", lambda self, lane: 30, raising=False)
    world.start()
    world.join()
    assert world.exit_codes == [3]
    assert "chaos-high has 30 s" in world.events.named("unfit")[0]["why"]
