"""From the lane to the result, with a real child process."""

from __future__ import annotations

import threading
from typing import Any

from worker_world import WorkerWorld, until

from taskgate.errors import Unavailable
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State


def test_a_task_is_claimed_run_and_its_files_and_output_are_stored(world: WorkerWorld) -> None:
    text = "Grüße\x00\uffff 👩‍🚀 " + "x" * 1000
    task_id = world.submit("echo", text=text)
    world.start()
    task = world.wait_ended(task_id)
    assert task.state is State.SUCCEEDED
    assert world.result(task_id, "echo.txt").decode() == text
    assert world.output(task_id)["text"] == text
    until(lambda: world.memory.lanes.total() == 0)


def test_setup_happens_once_and_the_runner_keeps_its_state(world: WorkerWorld) -> None:
    tasks = [world.submit("echo", text=str(n)) for n in range(5)]
    world.start()
    outputs = [world.wait_ended(t) and world.output(t) for t in tasks]
    assert sorted(o["runs"] for o in outputs) == [1, 2, 3, 4, 5]
    assert len({o["pid"] for o in outputs}) == 1


def test_the_second_task_starts_while_the_first_ones_upload_is_still_going_on(
    world: WorkerWorld,
) -> None:
    first = world.submit("echo", text="first")
    world.start()
    gate, put = threading.Event(), world.memory.results.put

    def slow_put(key: str, path: str, content_type: str) -> bool:
        if first in key:
            gate.wait(10)
        return put(key, path, content_type)

    world.memory.results.put = slow_put  # type: ignore[method-assign]
    world.wait_for(first, State.PROCESSING)
    second = world.submit("echo", text="second")
    world.wait_for(second, State.PROCESSING)
    assert world.task(first).state is State.PROCESSING
    gate.set()
    assert world.wait_ended(first).state is State.SUCCEEDED
    assert world.wait_ended(second).state is State.SUCCEEDED


def test_an_upload_longer_than_the_lease_keeps_the_lease(world: WorkerWorld) -> None:
    task_id = world.submit("echo", text="slow")
    gate, put = threading.Event(), world.memory.results.put

    def slow_put(*args: Any) -> bool:
        gate.wait(4.5)
        return put(*args)

    world.memory.results.put = slow_put  # type: ignore[method-assign]
    world.start()
    task = world.wait_ended(task_id)
    assert (task.state, task.attempt) == (State.SUCCEEDED, 1)


def test_a_store_that_is_away_for_a_while_costs_no_result(world: WorkerWorld) -> None:
    task_id, tries, apply = world.submit("echo"), [], world.memory.tasks.apply

    def flaky(change: Any) -> Any:
        if change.verb == "succeed":
            tries.append(change)
            if len(tries) < 4:
                raise Unavailable
        return apply(change)

    world.memory.tasks.apply = flaky  # type: ignore[method-assign]
    world.start()
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    assert len(tries) == 4


def test_progress_between_beats_is_reported_but_not_more_than_once_a_second(
    world: WorkerWorld,
) -> None:
    beats, beat = [], world.memory.pulses.beat

    def counted(pulse: Any) -> Any:
        beats.append(pulse)
        return beat(pulse)

    world.memory.pulses.beat = counted  # type: ignore[method-assign]
    task_id = world.submit("report_for_ever")
    world.start()
    world.wait_stage(task_id, "reporting")
    begun = len(beats)
    threading.Event().wait(2.5)
    assert 2 <= len(beats) - begun <= 4
    world.cancel(task_id, "hard")
    world.wait_ended(task_id)


def test_a_permanent_error_ends_the_task_at_the_first_attempt(world: WorkerWorld) -> None:
    task_id = world.submit("permanent")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.attempt) == (State.FAILED, 1)
    assert (task.error.code, task.error.error_class) == (
        ErrorCode.INVALID_INPUT,
        ErrorClass.PERMANENT,
    )
    assert "longer than the model's limit" in task.error.message


def test_a_transient_error_is_tried_again_and_says_what_the_upstream_said(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("transient")
    world.start()
    task = world.wait_for(task_id, State.RETRYING)
    assert task.error is not None
    assert task.error.code is ErrorCode.UPSTREAM_ERROR
    assert (task.not_before or 0) - task.since >= 1000


def test_an_input_that_the_type_no_longer_takes_fails_once_and_names_the_field(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("echo")
    world.memory.tasks._inputs[task_id] = '{"act": "echo", "seconds": "soon"}'
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.attempt, task.error.code) == (1, ErrorCode.INVALID_INPUT)
    assert task.error.message.startswith("seconds: ")


def test_a_result_that_is_not_a_number_is_refused(world: WorkerWorld) -> None:
    task_id = world.submit("not_a_number")
    world.start()
    task = world.wait_ended(task_id)
    assert task.error is not None
    assert (task.state, task.error.code) == (State.FAILED, ErrorCode.MODEL_ERROR)


def test_a_low_task_starts_although_high_ones_never_run_out(world: WorkerWorld) -> None:
    low = world.submit("echo", priority="low")
    high = [world.submit("echo", priority="high") for _ in range(30)]
    world.start()
    world.wait_ended(low)
    assert any(not world.task(t).state.ended for t in high)
    for task_id in high:
        world.wait_ended(task_id)


def test_an_idle_worker_picks_a_task_up_within_two_and_a_half_seconds(world: WorkerWorld) -> None:
    world.start(watch=1)
    until(lambda: bool(world.events.named("child_ready")))
    threading.Event().wait(1.5)
    for priority in ("low", "high", "normal"):
        task_id = world.submit("echo", priority=priority)
        task = world.wait_ended(task_id)
        assert (task.started_at or 0) - task.created_at < 2500


def test_a_message_that_cannot_be_claimed_does_not_end_the_worker(world: WorkerWorld) -> None:
    bad, good = world.submit("echo"), world.submit("echo", priority="low")
    apply = world.memory.tasks.apply

    def broken(change: Any) -> Any:
        if change.task_id == bad and change.verb == "claim":
            raise RuntimeError("a validation error of the store")
        return apply(change)

    world.memory.tasks.apply = broken  # type: ignore[method-assign]
    world.start()
    assert world.wait_ended(good).state is State.SUCCEEDED
    assert world.events.named("claim_failed")[0]["task"] == bad


def test_a_run_and_the_programs_that_it_starts_know_their_trace(world: WorkerWorld) -> None:
    first, second = (world.submit("tell_trace") for _ in range(2))
    world.start()
    for task_id in (first, second):
        task = world.wait_ended(task_id)
        told = world.output(task_id)
        assert told["traceparent"] == told["TRACEPARENT"]
        assert told["traceparent"] == task.trace_headers("run", 1)["traceparent"]
        assert (told["tracestate"], told["TRACESTATE"]) == ("", None)
