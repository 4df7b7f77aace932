"""The stale sweep over the in-memory ports: nothing due is left, nothing healthy is touched."""

from __future__ import annotations

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.steer import steering
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import LIVE, State
from taskgate.ports import Ledger, Pulse
from taskgate.task import CancelMode, Duty, Task
from taskgate.testing.factories import OWNER, task_in
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import LANE, WHO, claimed, gateway, submitted

SHARDS = range(16)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def sweep(world: MemoryWorld) -> sweeping.Report:
    return sweeping.sweep(world.ports, SHARDS, world.clock() + 55_000)


def put(world: MemoryWorld, task: Task) -> Task:
    world.tasks.tasks[task.id] = task
    return task


def sweep_for(world: MemoryWorld, seconds: int, period: int = 60) -> None:
    """The sweep each minute, as EventBridge would."""
    for _ in range(seconds // period):
        world.clock.advance(period)
        sweep(world)


def test_a_sweep_with_nothing_due_says_that_it_ran(world: MemoryWorld) -> None:
    report = sweep(world)
    assert (report.looked_at, report.finished, report.counts) == (0, True, {})


def test_a_task_whose_send_failed_is_sent_by_the_sweep(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.lanes, "send", fails)
        task = submitted(world)
        assert task.state is State.CREATED
        for _ in range(3):
            world.clock.advance(60)
            assert sweep(world).counts == {"unavailable": 1}
    world.clock.advance(60)
    sweep(world)
    assert world.state(task.id) is State.QUEUED
    assert claimed(world).task.id == task.id


def test_a_lost_message_is_sent_again_a_bounded_number_of_times(world: MemoryWorld) -> None:
    task = submitted(world)
    world.lanes.queues[LANE].clear()
    sweep_for(world, 29 * 60)
    assert world.lanes.total() == task.limits.max_redeliveries
    assert world.state(task.id) is State.QUEUED


def test_waiting_in_the_lane_ends_only_by_the_queue_limit(world: MemoryWorld) -> None:
    task = submitted(world)
    sweep_for(world, 31 * 60)
    ended = world.tasks.tasks[task.id]
    assert ended.state is State.TIMED_OUT
    assert ended.error is not None
    assert ended.error.code is ErrorCode.QUEUE_TIMEOUT


def test_a_beating_run_is_never_touched(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    for _ in range(4 * 9):
        world.clock.advance(15)
        gateway(world).beat(held, 0.5, "")
        sweep(world)
    assert world.tasks.tasks[task.id].attempt == 1
    assert world.state(task.id) is State.PROCESSING
    assert [e.verb for e in world.tasks.tasks[task.id].history] == ["submit", "enqueue", "claim"]


def test_a_silent_run_is_suspected_then_run_again(world: MemoryWorld) -> None:
    task = submitted(world)
    claimed(world)
    world.lanes.queues[LANE].clear()  # its message is gone too: only the clock is left
    sweep_for(world, 60)
    assert world.state(task.id) is State.STALLED
    sweep_for(world, 60)
    assert world.state(task.id) is State.QUEUED
    held = claimed(world, "w2")
    assert (held.task.attempt, held.task.budgets.crashes.spent) == (2, 1)


def test_a_suspect_that_beats_again_carries_on(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    sweep_for(world, 60)
    assert world.state(task.id) is State.STALLED
    world.clock.advance(50)
    gateway(world).beat(held, 0.7, "")
    world.clock.advance(10)
    sweep(world)
    assert world.state(task.id) is State.PROCESSING
    assert gateway(world).succeed(held, [], None).state is State.SUCCEEDED


def test_a_run_beyond_its_limit_ends_in_run_timeout(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    for _ in range(13 * 4):
        world.clock.advance(15)
        gateway(world).beat(held, 0.5, "")
        sweep(world)
    ended = world.tasks.tasks[task.id]
    assert ended.state is State.TIMED_OUT
    assert ended.error is not None
    assert ended.error.code is ErrorCode.RUN_TIMEOUT


def test_a_cancel_that_a_dead_worker_never_saw_is_enforced(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    sweep_for(world, 60)
    assert world.state(task.id) is State.CANCELED
    assert world.tasks.ledger(OWNER).balanced
    signal = gateway(world).report(held, 0.5, "")
    assert signal is not None
    assert signal.kind == "lost"


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_task_left_alone_in_any_live_state_ends(world: MemoryWorld, state: State) -> None:
    task = put(world, task_in(state, at=world.clock()))
    world.tasks.books[OWNER, 0] = Ledger(active=frozenset({task.id}), submitted=1)
    sweep_for(world, 25 * 3600, period=900)
    ended = world.tasks.tasks[task.id]
    assert ended.state.ended
    assert world.tasks.ledger(OWNER).balanced
    # What a stopped run left behind is the outbox's to remove.
    assert ended.owes == ((Duty.CLEAN_UP,) if state is State.CANCELING else ())
    assert (ended.due_at is None) == (not ended.owes)


def test_two_sweeps_at_once_act_once(world: MemoryWorld) -> None:
    tasks = [put(world, task_in(State.STALLED, at=world.clock())) for _ in range(100)]
    world.clock.advance(60)
    first, second = sweep(world), sweep(world)
    assert first.counts == {"rescue": 100}
    assert second.looked_at == 0
    assert all(world.tasks.tasks[t.id].budgets.crashes.spent == 1 for t in tasks)
    assert world.lanes.total() == 100


def test_a_sweep_that_runs_out_of_time_leaves_the_rest_due(world: MemoryWorld) -> None:
    for _ in range(50):
        put(world, task_in(State.STALLED, at=world.clock()))
    world.clock.advance(60)
    stopped = sweeping.sweep(world.ports, SHARDS, world.clock())
    assert (stopped.finished, stopped.looked_at) == (False, 0)
    assert sweep(world).counts == {"rescue": 50}


def test_a_task_that_moved_after_the_index_was_read_is_left_alone(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    gateway(world).succeed(held, [], None)
    stale = sweeping.Due(task.id, world.clock() - 1)
    assert sweeping.look(world.ports, stale) == "not_due"


def test_an_entry_of_the_index_without_a_task_does_no_harm(world: MemoryWorld) -> None:
    assert sweeping.look(world.ports, sweeping.Due("task_gone", 0)) == "gone"


def test_the_sweep_reads_what_is_due_and_nothing_else(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(100_000):
        put(world, task_in(State.QUEUED, at=world.clock() + 10**7))
    for _ in range(10):
        put(world, task_in(State.QUEUED, at=world.clock() - 200_000))
    reads: list[str] = []
    real = world.tasks.get_with_pulse

    def counted(task_id: str) -> tuple[Task | None, Pulse | None]:
        reads.append(task_id)
        return real(task_id)

    monkeypatch.setattr(world.tasks, "get_with_pulse", counted)
    assert sweep(world).looked_at == len(reads) == 10
