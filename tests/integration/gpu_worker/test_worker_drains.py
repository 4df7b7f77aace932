"""A drain is no error: what was begun is finished or goes on elsewhere, from where it was."""

from __future__ import annotations

import os
import signal

from worker_world import WorkerWorld, until

from gpu_worker.protection import Protection
from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import LEAVE
from taskgate.lifecycle.states import State, Verb
from taskgate.settings import Timing
from taskgate.spans import Span, Spans
from taskgate.task import Task
from taskgate.tracing import span_id


class Noted(Protection):
    """Notes what the worker wants; there is no agent."""

    def __init__(self) -> None:
        super().__init__(None)
        self.said: list[str] = []

    def hold(self) -> None:
        self.said.append("hold")

    def release(self) -> None:
        self.said.append("release")


def spent(task: Task) -> tuple[int, int, int]:
    budgets = task.budgets
    return budgets.retries.spent, budgets.crashes.spent, budgets.interruptions.spent


def test_the_next_worker_goes_on_from_the_checkpoint_of_the_one_that_left(
    world: WorkerWorld,
) -> None:
    task_id = world.submit("steps", seconds=0.2, text="10")
    stop = world.start(drain=0.5)
    world.wait_for(task_id, State.PROCESSING)
    until(lambda: bool(world.memory.pulses.get(task_id)))
    stop.ask("SIGTERM")
    world.join()
    assert world.task(task_id).state is State.QUEUED
    saved = int(world.task(task_id).checkpoint or -1)
    assert saved >= 1
    world.start()
    task = world.wait_ended(task_id)
    assert (task.state, spent(task)) == (State.SUCCEEDED, (0, 0, 1))
    assert world.output(task_id) == {"first": saved, "attempt": 2}
    told = [e.verb for e in task.history]
    assert told[-4:] == [Verb.PAUSE, Verb.RESUME, Verb.CLAIM, Verb.SUCCEED]


def test_a_signal_that_hits_the_child_as_well_is_a_drain_and_no_crash(world: WorkerWorld) -> None:
    task_id = world.submit("checkpointed")
    stop = world.start(drain=5)
    world.wait_stage(task_id, "saved")
    os.kill(world.events.named("child_ready")[0]["pid"], signal.SIGTERM)
    stop.ask("SIGTERM")
    world.join()
    task = world.task(task_id)
    assert (task.state, task.checkpoint, spent(task)) == (State.QUEUED, "step 3", (0, 0, 1))
    assert world.exit_codes == [0]


def test_what_was_received_when_the_drain_began_is_put_back_at_once(world: WorkerWorld) -> None:
    receive, stops = world.memory.lanes.receive, []

    def late(lane: str, wait: int = 0, most: int = 1) -> object:
        found = receive(lane, wait, most)
        if found:
            stops[0].ask("SIGTERM")
        return found

    world.memory.lanes.receive = late  # type: ignore[assignment, method-assign]
    stops.append(world.start())
    until(lambda: bool(world.events.named("child_ready")))
    task_id = world.submit("echo")
    world.join()
    assert (world.task(task_id).state, world.task(task_id).attempt) == (State.QUEUED, 0)
    assert world.memory.lanes.waiting(world.task(task_id).lane) == 1


def test_a_worker_is_protected_from_its_claim_through_its_beats_until_it_is_idle(
    world: WorkerWorld,
) -> None:
    noted = Noted()
    world.start(protection=noted)
    until(lambda: "release" in noted.said)
    noted.said.clear()
    world.wait_ended(world.submit("echo", seconds=1.5))
    until(lambda: noted.said[-1:] == ["release"])
    held = noted.said[: noted.said.index("release", noted.said.index("hold"))]
    assert held.count("hold") >= 2


def test_an_agent_that_cannot_be_reached_fails_no_task(world: WorkerWorld) -> None:
    world.start(protection=Protection("http://127.0.0.1:1/api"))
    assert world.wait_ended(world.submit("echo")).state is State.SUCCEEDED
    until(lambda: bool(world.events.named("protection_failed")))


def test_the_drain_and_the_way_out_fit_the_time_that_ecs_gives() -> None:
    assert WorkerSettings(pool="gpu").drain + LEAVE < Timing().stop_timeout
    most = WorkerSettings.read({"TASKGATE_POOL": "gpu", "TASKGATE_DRAIN": "110"})
    assert most.drain + LEAVE < 120


class Told:
    """A sink for spans that notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def put(self, span: Span) -> None:
        self.asked.append(f"{span.name} {span.span_id}")

    def flush(self) -> None:
        self.asked.append("flush")


def test_a_worker_that_leaves_sends_the_span_of_its_last_run(world: WorkerWorld) -> None:
    sink = Told()
    task_id = world.submit("steps", seconds=0.2, text="3")
    stop = world.start(spans=Spans(sink))
    world.wait_for(task_id, State.PROCESSING)
    stop.ask("SIGTERM")
    world.join()
    assert world.task(task_id).state is State.SUCCEEDED
    assert sink.asked == [f"run {span_id(task_id, 'run', 1)}", "flush"]
