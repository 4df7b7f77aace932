"""A live worker's task is never taken, however eagerly others ask for it."""

from __future__ import annotations

from pathlib import Path

from worker_world import WorkerWorld, figure

from taskgate.lifecycle.states import State

RUNS = 20
LEASE = 3.0
TIMES = {"beat": 0.5, "lease": LEASE}


def test_a_task_three_times_longer_than_the_lease_starts_exactly_once_in_20_of_20_runs(
    tmp_path: Path,
) -> None:
    world = WorkerWorld(tmp_path, **TIMES)
    tasks = [world.submit("echo", seconds=3 * LEASE) for _ in range(RUNS)]
    for _ in range(RUNS + 2):
        world.start(watch=0.05)
    ended = [world.wait_ended(t) for t in tasks]
    world.close()
    once = [t for t in ended if (t.state, t.attempt) == (State.SUCCEEDED, 1)]
    longest = max((t.ended_at or 0) - (t.started_at or 0) for t in ended)
    figure(
        f"{len(once)} of {RUNS} started once; the longest ran {longest / 1000 / LEASE:.1f} leases"
    )
    assert len(once) == RUNS
    assert len(world.events.named("claimed")) == RUNS


def test_tasks_that_wait_behind_longer_ones_than_the_lease_start_once_each(tmp_path: Path) -> None:
    world = WorkerWorld(tmp_path, **TIMES)
    tasks = [world.submit("echo", seconds=1.2 * LEASE) for _ in range(3)]
    world.start(watch=0.05)
    assert [world.wait_ended(t).attempt for t in tasks] == [1, 1, 1]
    world.close()
    assert len(world.events.named("claimed")) == 3
    assert world.memory.lanes.total() == 0
