"""A worker's verbs over the in-memory ports: every message is dealt with, every end is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import LeaseLost, Refused
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.steer import steering
from taskgate.gateway.work.worker import Failure, Held, Produced, Released, WorkerGateway
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import rearmed
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Delivery, Message, Signal
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import CancelMode, Task
from taskgate.testing.factories import OWNER, stamp, task_in
from taskgate.testing.memory import MemoryWorld

ENVIRONMENT = Environment(
    stage="local",
    tasks_table="t",
    ephemeral_table="e",
    results_bucket="r",
    lanes={},
    clock_shards=16,
    beat=15,
    lease=45,
    send_check=30,
    stall_grace=60,
    cancel_grace=30,
)
WHO = Principal(OWNER, SCOPES, 100, "key")
LANE = "cpu-normal"
BROKEN = Failure(ErrorCode.MODEL_ERROR, "no", ErrorClass.TRANSIENT)
CRASHED = Failure(ErrorCode.WORKER_CRASHED, "killed by signal 9", ErrorClass.CRASH)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def gateway(world: MemoryWorld, name: str = "w1", draw: float = 0.5) -> WorkerGateway:
    return WorkerGateway(world.ports, CATALOG, ENVIRONMENT, name, draw=lambda: draw)


def submitted(world: MemoryWorld) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": "hello"})
    return submitting.submit(world.ports, CATALOG, ENVIRONMENT, WHO, request).task


def received(world: MemoryWorld) -> Delivery:
    (delivery,) = world.lanes.receive(LANE)
    return delivery


def claimed(world: MemoryWorld, name: str = "w1") -> Held:
    held = gateway(world, name).claim(received(world))
    assert isinstance(held, Held)
    return held


def test_a_submitted_task_is_claimed_run_and_ended_with_nothing_left(
    world: MemoryWorld, tmp_path: Path
) -> None:
    task = submitted(world)
    assert task.state is State.QUEUED
    held = claimed(world)
    assert held.input == (
        '{"format":"text","text":"hello","content_base64":null,'
        '"document":null,"chunk_chars":800,"overlap_chars":100,"dimensions":256}'
    )
    file = tmp_path / "out.txt"
    file.write_text("done")
    done = gateway(world).succeed(held, [Produced("out.txt", str(file), "text/plain")], "{}")
    assert done.state is State.SUCCEEDED
    assert world.results.objects == {f"r/acme/{task.id}/1/out.txt": b"done"}
    assert world.lanes.total() == 0
    assert world.tasks.ledger(OWNER).balanced


def test_a_beat_hides_the_message_for_another_lease(world: MemoryWorld) -> None:
    submitted(world)
    held = claimed(world)
    for _ in range(10):
        world.clock.advance(15)
        gateway(world).beat(held, 0.1, "parse")
        assert world.lanes.receive(LANE) == []


def test_a_dead_workers_task_is_taken_over_when_its_message_comes_back(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    claimed(world, "w1")
    world.clock.advance(46)
    held = claimed(world, "w2")
    assert (held.task.attempt, held.task.worker) == (2, "w2")
    assert held.task.budgets.crashes.spent == 1
    assert [e.verb for e in world.tasks.tasks[task.id].history][-1] == "take_over"


def test_a_live_workers_task_is_never_taken_however_often_its_message_comes(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    held = claimed(world, "w1")
    world.lanes.send(LANE, Message(task.id, 0))
    for _ in range(40):
        world.clock.advance(15)
        gateway(world, "w1").beat(held, 0.1, "parse")
        for delivery in world.lanes.receive(LANE, most=10):
            assert isinstance(gateway(world, "w2").claim(delivery), Released)
    assert world.tasks.tasks[task.id].attempt == 1
    # Put back that often, the duplicate was sent afresh: its receive count stays low.
    assert all(s.receives <= 5 for s in world.lanes.queues[LANE])


def test_the_old_holder_of_a_task_that_was_taken_over_can_write_nothing(
    world: MemoryWorld, tmp_path: Path
) -> None:
    submitted(world)
    old = claimed(world, "w1")
    world.clock.advance(46)
    new = claimed(world, "w2")
    gateway(world, "w2").beat(new, 0.1, "")
    with pytest.raises(LeaseLost):
        gateway(world, "w1").beat(old, 0.9, "")
    for end in (
        lambda: gateway(world, "w1").succeed(old, [], None),
        lambda: gateway(world, "w1").fail(old, BROKEN),
        lambda: gateway(world, "w1").hand_back(old, None),
        lambda: gateway(world, "w1").stopped(old),
        lambda: gateway(world, "w1").snooze(old, 5),
        lambda: gateway(world, "w1").extend(old, 60),
        lambda: gateway(world, "w1").refresh(old),
    ):
        with pytest.raises(Refused):
            end()
    assert gateway(world, "w2").succeed(new, [], None).attempt == 2


def test_a_worker_extends_its_run_though_it_was_suspected_meanwhile(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    world.clock.advance(50)
    world.tasks.apply(transitions.stall(world.tasks.tasks[task.id], stamp(world.clock())))
    longer = gateway(world).extend(held, 60)
    assert longer.task.state is State.PROCESSING
    assert longer.task.limits.run_timeout == held.task.limits.run_timeout + 60_000


def test_a_transient_failure_comes_back_after_its_backoff(world: MemoryWorld) -> None:
    submitted(world)
    after = gateway(world, draw=0.5).fail(claimed(world), BROKEN)
    assert after.state is State.RETRYING
    assert after.not_before == world.clock() + 1_000
    assert world.lanes.receive(LANE) == []
    world.clock.advance(1)
    assert claimed(world, "w2").task.attempt == 2


def test_a_permanent_failure_ends_the_task_at_once(world: MemoryWorld) -> None:
    submitted(world)
    bad = Failure(ErrorCode.INVALID_INPUT, "not a PDF", ErrorClass.PERMANENT)
    after = gateway(world).fail(claimed(world), bad)
    assert (after.state, after.attempt, world.lanes.total()) == (State.FAILED, 1, 0)


def test_a_task_that_always_kills_its_worker_starts_three_times_and_fails(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    for attempt in (1, 2, 3):
        world.clock.advance(60)
        held = claimed(world)
        assert held.task.attempt == attempt
        gateway(world).fail(held, CRASHED)
    ended = world.tasks.tasks[task.id]
    assert ended.state is State.FAILED
    assert ended.error is not None
    assert ended.error.code is ErrorCode.WORKER_CRASHED
    assert world.lanes.total() == 0


def test_a_handed_back_task_is_in_its_lane_at_once_with_its_checkpoint(
    world: MemoryWorld,
) -> None:
    submitted(world)
    after = gateway(world).hand_back(claimed(world), "page 7")
    assert (after.state, after.checkpoint) == (State.QUEUED, "page 7")
    held = claimed(world, "w2")
    assert (held.task.attempt, held.task.checkpoint) == (2, "page 7")
    assert held.task.budgets.interruptions.spent == 1
    assert held.task.budgets.retries.spent == held.task.budgets.crashes.spent == 0


def test_what_a_run_saved_is_there_after_a_failure_and_after_a_snooze(world: MemoryWorld) -> None:
    submitted(world)
    gateway(world, draw=0.0).fail(claimed(world), BROKEN, "page 3")
    held = claimed(world)
    assert held.task.checkpoint == "page 3"
    gateway(world).snooze(held, 1)
    world.clock.advance(1)
    assert claimed(world).task.checkpoint == "page 3"


def test_a_task_interrupted_too_often_fails_instead_of_circling(world: MemoryWorld) -> None:
    submitted(world)
    for _ in range(20):
        gateway(world).hand_back(claimed(world), None)
    assert gateway(world).hand_back(claimed(world), None).state is State.FAILED


def test_a_hard_cancel_reaches_the_worker_by_its_next_beat(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    assert steering.cancel(world.ports, WHO, task.id, CancelMode.HARD).state is State.CANCELING
    assert gateway(world).beat(held, 0.2, "") == Signal("cancel_hard", 1)
    done = gateway(world).stopped(held)
    assert (done.state, world.lanes.total()) == (State.CANCELED, 0)
    assert world.tasks.ledger(OWNER).balanced


def test_a_result_that_comes_after_a_hard_cancel_is_refused_and_shows_the_cancel(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    held = claimed(world)
    steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    with pytest.raises(Refused) as refused:
        gateway(world).succeed(held, [], None)
    assert refused.value.current is not None
    assert refused.value.current.state is State.CANCELING


def test_canceling_one_task_says_nothing_to_another_on_the_same_worker(
    world: MemoryWorld,
) -> None:
    first, second = submitted(world), submitted(world)
    held = claimed(world)
    other = second if held.task.id == first.id else first
    steering.cancel(world.ports, WHO, other.id, CancelMode.HARD)
    assert gateway(world).beat(held, 0.2, "") is None
    assert world.tasks.tasks[other.id].state is State.CANCELED


def test_a_message_for_an_unknown_task_is_kept_for_a_while_and_then_dropped(
    world: MemoryWorld,
) -> None:
    world.lanes.send(LANE, Message("task_ghost", 0))
    for _ in range(4):
        assert isinstance(gateway(world).claim(received(world)), Released)
        world.clock.advance(11)
    assert world.lanes.total() == 0


def test_a_message_whose_task_appears_two_seconds_later_runs_once(world: MemoryWorld) -> None:
    task = task_in(State.QUEUED, at=world.clock())
    world.lanes.send(LANE, Message(task.id, 0))
    assert isinstance(gateway(world).claim(received(world)), Released)
    world.tasks.tasks[task.id] = task
    world.clock.advance(11)
    assert claimed(world).task.id == task.id
    assert world.lanes.receive(LANE) == []


def test_a_message_of_an_ended_task_is_dropped(world: MemoryWorld) -> None:
    task = submitted(world)
    steering.cancel(world.ports, WHO, task.id, CancelMode.HARD)
    assert isinstance(gateway(world).claim(received(world)), Released)
    assert world.lanes.total() == 0


def test_an_older_message_still_starts_a_task_that_waits(world: MemoryWorld) -> None:
    task = submitted(world)
    gateway(world, draw=0.0).fail(claimed(world), BROKEN)
    for queue in world.lanes.queues.values():
        queue.clear()
    world.lanes.send(LANE, Message(task.id, 0))
    assert claimed(world).task.attempt == 2


def test_a_claim_races_a_move_and_leaves_the_message_for_later(world: MemoryWorld) -> None:
    task = submitted(world)
    stored = world.tasks.tasks[task.id]
    world.tasks.apply(rearmed(stored, stamp(world.clock()), world.clock() + 5))
    assert claimed(world).task.id == task.id


def test_a_worker_keeps_its_work_while_the_task_is_suspected(world: MemoryWorld) -> None:
    task = submitted(world)
    held = claimed(world)
    world.clock.advance(50)
    current = world.tasks.tasks[task.id]
    world.tasks.apply(transitions.stall(current, stamp(world.clock())))
    assert gateway(world).succeed(held, [], None).state is State.SUCCEEDED
