"""A worker that cannot run tasks claims none, and says why; one that lost its host leaves it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from worker_world import WorkerWorld, until

from gpu_worker import child_process
from gpu_worker.child_process import Child
from gpu_worker.nursery import Nursery, Unfit
from gpu_worker.stop import Stop
from taskgate.errors import Unavailable
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.scratch import Scratch


def test_a_model_that_never_gets_ready_ends_the_worker_within_its_start_up_limit(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("echo", kind="never_ready")
    began = time.monotonic()
    world.start(preload=True, pool="never")
    world.join()
    assert time.monotonic() - began < 60, "its setup would last an hour"
    assert world.exit_codes == [3]
    assert "not ready within 1 s" in world.events.named("unfit")[0]["why"]
    assert (world.task(task_id).state, world.task(task_id).attempt) == (State.QUEUED, 0)


def test_after_two_setups_in_a_row_that_failed_with_a_task_in_hand_the_worker_leaves(
    world: WorkerWorld,
) -> None:
    first, second = (world.submit("echo", kind="broken") for _ in range(2))
    world.start()
    world.join()
    assert world.exit_codes == [3]
    assert len(world.events.named("claimed")) == 2
    codes = {e.code for e in (world.task(first).error, world.task(second).error) if e}
    assert codes == {ErrorCode.STARTUP_FAILED}


def test_a_worker_that_runs_tasks_in_between_outlives_a_broken_type(world: WorkerWorld) -> None:
    world.start()
    for _ in range(2):
        assert world.wait_ended(world.submit("echo", kind="broken_once")).state is State.FAILED
        assert world.wait_ended(world.submit("echo")).state is State.SUCCEEDED
    assert world.exit_codes == []


def test_a_queue_service_that_is_away_at_the_start_is_waited_for(
    world: WorkerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = [Unavailable(), world.environment.lease]

    def visibility(_: object, lane: str) -> int:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    monkeypatch.setattr(type(world.memory.lanes), "visibility", visibility)
    task_id = world.submit("echo")
    world.start()
    assert world.wait_ended(task_id).state is State.SUCCEEDED


def test_a_child_that_even_a_kill_does_not_end_makes_the_worker_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "KILL_LIMIT", 0.0)
    scratch, stop = Scratch(tmp_path, "fit-"), Stop(1)
    nursery = Nursery(scratch, (), (), stop)
    child = nursery.child()
    assert isinstance(child, Child)
    monkeypatch.setattr(child, "_strike", lambda: None)
    child.kill()
    assert child.unkillable
    with pytest.raises(Unfit, match="does not end"):
        nursery.child()
    # It hung up, which ends a healthy child: nothing is left of this one.
    assert child._process.wait(60) is not None
    scratch.close()


def test_a_task_whose_record_lost_its_input_fails_once_and_does_not_blame_its_owner(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("echo")
    world.memory.tasks._inputs.pop(task_id)
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.attempt) == (State.FAILED, 1)
    assert task.error.code is ErrorCode.INPUT_LOST
    assert "no input any more" in task.error.message


def test_each_attempt_is_on_the_account_and_so_is_each_that_brought_nothing(
    world: WorkerWorld,
) -> None:
    began = time.monotonic()
    good, bad = world.submit("echo", seconds=0.3), world.submit("permanent")
    slow, canceled = world.submit("ignore_cancel", kind="brief"), world.submit("report_for_ever")
    world.start()
    for task_id in (good, bad, slow):
        world.wait_ended(task_id)
    world.wait_stage(canceled, "reporting")
    world.cancel(canceled, "hard")
    world.wait_ended(canceled)
    until(lambda: len(world.events.named("ran")) == 4)
    ran = {e["task"]: e for e in world.events.named("ran")}
    wasted = {e["task"]: e for e in world.events.named("wasted")}
    assert {t: e["state"] for t, e in ran.items()} == {
        good: "succeeded", bad: "failed", slow: "timed_out", canceled: "canceled",
    }  # fmt: skip
    assert {t: e["cause"] for t, e in wasted.items()} == {
        bad: "invalid_input", slow: "run_timeout", canceled: "canceled",
    }  # fmt: skip
    assert 0.3 <= ran[good]["seconds"] < time.monotonic() - began
    assert wasted[slow]["seconds"] >= 1
    assert {e["type"] for e in ran.values()} == {"chaos", "brief"}


def test_the_images_entry_is_no_shell_so_that_process_1_gets_the_signal() -> None:
    dockerfile = (Path(__file__).parents[3] / "gpu_worker" / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["python", "-m", "gpu_worker"]' in dockerfile
    assert "STOPSIGNAL SIGTERM" in dockerfile


def test_a_host_whose_gpu_is_gone_after_a_kill_claims_nothing_more(world: WorkerWorld) -> None:
    gone: list[bool] = []
    killed = world.submit("ignore_cancel", kind="brief")
    world.start(checks=(lambda: "the GPU is in a sticky error" if gone else None,))
    world.wait_stage(killed, "looping")
    gone.append(True)
    world.wait_ended(killed)
    waiting = world.submit("echo")
    world.join()
    assert (world.exit_codes, world.task(waiting).attempt) == ([3], 0)


def test_a_worker_is_healthy_once_its_models_are_loaded_and_stays_so_through_a_long_run(
    world: WorkerWorld, tmp_path: Path
) -> None:
    file = tmp_path / "ready"
    file.touch()  # an earlier process left it
    world.start(health=file)
    until(lambda: bool(world.events.named("child_ready")))
    until(file.exists)
    task_id = world.submit("hold_gil", seconds=100)
    world.wait_for(task_id, State.PROCESSING)
    os.utime(file, (0, 0))
    # The run is one long call of the model: it is the supervisor's loop that signs.
    until(lambda: file.stat().st_mtime > 0, seconds=90)
    assert world.task(task_id).state is State.PROCESSING
    world.close()
    assert not file.exists()


def test_a_worker_whose_models_never_load_is_never_healthy(
    world: WorkerWorld, tmp_path: Path
) -> None:
    file = tmp_path / "ready"
    world.start(preload=True, pool="never", health=file)
    while world.exit_codes == []:
        assert not file.exists()
        time.sleep(0.05)
    assert world.exit_codes == [3]


def test_after_a_hard_cancel_the_host_is_checked_before_the_next_claim(
    world: WorkerWorld,
) -> None:
    checked: list[int] = []

    def check() -> None:
        checked.append(len(world.events.named("claimed")))

    world.start(checks=(check,))
    task_id = world.submit("report_for_ever")
    world.wait_stage(task_id, "reporting")
    world.cancel(task_id, "hard")
    assert world.wait_ended(task_id).state is State.CANCELED
    assert world.wait_ended(world.submit("echo")).state is State.SUCCEEDED
    assert world.wait_ended(world.submit("echo")).state is State.SUCCEEDED
    assert checked == [0, 1], "at the start, and after the cancel, before the second claim"


def test_a_gpu_that_is_ill_after_a_hard_cancel_gets_a_fresh_child_or_no_task_at_all(
    world: WorkerWorld,
) -> None:
    ill: list[bool] = [False]
    world.start(checks=(lambda: "fell off the bus" if ill[0] else None,))
    task_id = world.submit("report_for_ever")
    world.wait_stage(task_id, "reporting")
    ill[0] = True
    world.cancel(task_id, "hard")
    world.wait_ended(task_id)
    waiting = world.submit("echo")
    world.join()
    assert world.exit_codes == [3]
    assert world.task(waiting).state is State.QUEUED
    assert world.task(waiting).attempt == 0
