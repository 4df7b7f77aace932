"""A whole worker is seen on the roster while it is there: idle, at its task, draining, and then gone."""

from __future__ import annotations

from worker_world import WorkerWorld, until

from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.roster import Sign, WorkerState


def _signs(world: WorkerWorld) -> list[Sign]:
    return list(world.memory.roster.present(["chaos"]))


def test_a_worker_is_seen_idle_then_gone_when_it_has_left(world: WorkerWorld) -> None:
    stop = world.start()
    until(lambda: [s.state for s in _signs(world)] == [WorkerState.IDLE])
    assert _signs(world)[0].worker == "test-worker"
    stop.ask("SIGTERM")
    world.join()
    assert _signs(world) == []


def test_a_worker_is_seen_at_its_task_and_draining(world: WorkerWorld) -> None:
    task_id = world.submit("echo", seconds=10)
    stop = world.start(drain=60)
    until(lambda: [s.task_id for s in _signs(world)] == [task_id])
    (sign,) = _signs(world)
    assert (sign.state, sign.task_type, sign.attempt) == (WorkerState.BUSY, "chaos", 1)
    stop.ask("SIGTERM")
    until(lambda: [s.state for s in _signs(world)] == [WorkerState.DRAINING])
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    world.join()
    assert _signs(world) == []


def test_a_roster_that_is_away_costs_no_task(world: WorkerWorld, monkeypatch) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    for name in ("report", "join", "leave"):
        monkeypatch.setattr(world.memory.roster, name, away)
    task_id = world.submit("echo")
    world.start()
    assert world.wait_ended(task_id).state is State.SUCCEEDED
    assert world.events.named("sign_not_given")


def test_a_whole_worker_counts_how_long_its_tasks_waited_and_ran(world: WorkerWorld) -> None:
    good = [world.submit("echo") for _ in range(3)]
    world.start()
    for task_id in good:
        world.wait_ended(task_id)
    world.close()
    spans = world.memory.spreads.lately("chaos", "chaos-normal")
    assert (spans.waits.samples, spans.runs.samples) == (3, 3)
