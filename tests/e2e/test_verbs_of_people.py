"""What people do to tasks, against the deployed local stack and real workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Refused, Task, Taskgate, TaskHandle
from taskgate.local import LocalStack
from taskgate.local.process import Child
from taskgate.principal import SCOPES
from taskgate.task import Owner
from tests.e2e.waiting import PATIENCE, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("verbs")]

QUICK = {"prompt": "x", "steps": 1, "width": 64, "height": 64}
SLOW = {**QUICK, "steps": 20, "step_ms": 400}
HOLD = 20
"""Seconds for which the API holds a poll back at most."""


def verbs(task: Task) -> list[str]:
    return [entry.verb for entry in task.history]


@pytest.fixture(scope="module")
def client(stack: LocalStack) -> Iterator[Taskgate]:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    key = issue(keys, Owner("people", "olga"), SCOPES, max_pending=500)
    with Taskgate(stack.api_url, key) as made:
        yield made


@contextmanager
def working(stack: LocalStack, count: int = 1) -> Iterator[list[Child]]:
    """Workers of the GPU pool, for as long as the test needs them."""
    workers = [stack.start_worker("gpu") for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop()


def kill_the_holder(handle: TaskHandle, workers: list[Child]) -> None:
    """`kill -9` of the worker that computes the task, by the process id in its name."""
    holder = until(lambda: handle.explain().worker)
    pid = int(holder.split("-")[-2])
    assert pid in {worker.pid for worker in workers}
    os.kill(pid, signal.SIGKILL)


def test_a_task_for_later_starts_when_its_time_has_come(
    stack: LocalStack, client: Taskgate
) -> None:
    # Far ahead: however long the sweep takes, the time has not come.
    handle = client.submit("text_to_image", QUICK, delay=3600)
    assert handle.submitted.state == "scheduled"
    stack.sweep()
    assert handle.status().state == "scheduled"
    run_at = handle.reschedule(delay=timedelta(seconds=2)).run_at
    assert run_at is not None
    with working(stack):
        time.sleep(max(0.0, (run_at - datetime.now(UTC)).total_seconds()))
        stack.sweep()
        assert handle.wait(timeout=PATIENCE).succeeded
    task = handle.get()
    assert verbs(task) == ["submit", "reschedule", "enqueue", "claim", "succeed"]
    assert task.started_at is not None
    assert task.started_at >= run_at


def test_a_scheduled_task_is_moved_and_canceled_before_it_starts(client: Taskgate) -> None:
    handle = client.submit("text_to_image", QUICK, run_at=datetime.now(UTC) + timedelta(days=1))
    moved = handle.reschedule(delay=timedelta(days=2), reason="not before the weekend")
    assert moved.state == "scheduled"
    assert "in about 48 h" in handle.explain().why
    assert handle.cancel().state == "canceled"


def test_of_two_workers_one_is_killed_in_mid_task_and_the_other_finishes_it(
    stack: LocalStack, client: Taskgate
) -> None:
    with working(stack, 2) as workers:
        handle = client.submit("text_to_image", SLOW)
        kill_the_holder(handle, workers)
        assert handle.wait(timeout=PATIENCE).succeeded
    task = handle.get()
    assert task.attempt == 2
    assert {"take_over", "stall"} & set(verbs(task))
    assert task.raw["budgets"]["crashes"]["spent"] == 1


def test_a_task_whose_only_worker_died_is_stalled_explains_itself_and_is_recovered(
    stack: LocalStack, client: Taskgate
) -> None:
    with working(stack) as workers:
        handle = client.submit("text_to_image", SLOW)
        kill_the_holder(handle, workers)
        with pytest.raises(Refused) as early:
            handle.recover()
        assert early.value.code == "verb_not_allowed"
        until(lambda: swept(stack) and handle.status().state == "stalled")
    told = handle.explain()
    assert set(told.actions) >= {"recover", "fail", "extend"}
    assert "no beat for a whole lease" in told.why
    assert handle.recover("its host is gone").state == "queued"
    with working(stack):
        assert handle.wait(timeout=PATIENCE).succeeded
    history = handle.get().history
    assert [e.verb for e in history if e.verb in {"stall", "rescue"}] == ["stall", "rescue"]
    assert next(e for e in history if e.verb == "rescue").actor == "user:olga"


def test_a_paused_task_is_claimed_by_nobody_until_it_is_resumed(
    stack: LocalStack, client: Taskgate
) -> None:
    handle = client.submit("text_to_image", QUICK)
    assert handle.pause("model update").state == "paused"
    with working(stack):
        time.sleep(3)
        assert handle.status().state == "paused"
        assert handle.resume().state == "queued"
        assert handle.wait(timeout=PATIENCE).succeeded


def test_a_run_is_extended_and_a_timed_out_task_gets_another_life(
    stack: LocalStack, client: Taskgate
) -> None:
    # It would run for 16 s. The limit leaves a busy machine time to ask for more within it.
    handle = client.submit("text_to_image", {**SLOW, "steps": 40}, timeouts={"run_seconds": 8})
    with working(stack):
        until(lambda: handle.status().state == "processing")
        assert handle.extend(1).raw["limits"]["run_timeout"] == 9
        ended = handle.wait(timeout=PATIENCE)
        assert ended.state == "timed_out"
        again = handle.retry("with more patience")
        assert (again.state, again.raw["generation"]) == ("queued", 1)
        until(lambda: handle.status().state == "processing")
        handle.extend(600)
        assert handle.wait(timeout=PATIENCE).succeeded


def test_a_long_poll_answers_when_the_task_ends_and_holds_nobody_else_up(
    client: Taskgate,
) -> None:
    handle = client.submit("text_to_image", QUICK)
    ended: list[tuple[float, Task]] = []
    started = time.monotonic()

    def waits() -> None:
        task = handle.wait(timeout=PATIENCE)
        ended.append((time.monotonic() - started, task))

    waiting = threading.Thread(target=waits)
    waiting.start()
    time.sleep(3)
    assert not ended
    handle.cancel()
    answered = time.monotonic() - started
    waiting.join(PATIENCE)
    assert answered < HOLD, "a second function starts beside the waiting one"
    assert ended[0][0] < HOLD, "it is answered at the end, and not when the hold is over"
    assert ended[0][1].state == "canceled"


def test_lists_by_filter_hold_on_the_real_table_and_page_to_the_end(client: Taskgate) -> None:
    ids = []
    for n in range(5):
        labels = {"suite": "lists", "odd": str(n % 2)}
        handle = client.submit("text_to_image", QUICK, metadata=labels, delay=3600)
        ids.append(handle.id)
        time.sleep(0.01)
    newest = ids[::-1]
    ours = {"suite": "lists"}
    assert [t.id for t in client.list(1, metadata=ours)] == newest
    assert [t.id for t in client.list(2, metadata={**ours, "odd": "1"})] == [ids[3], ids[1]]
    third = client.get(ids[2]).created_at
    assert [t.id for t in client.list(2, metadata=ours, since=third)] == newest[:3]
    assert [t.id for t in client.list(2, metadata=ours, until=third)] == newest[3:]
    assert list(client.list(metadata=ours, state=["failed", "queued"])) == []
    for task_id in ids:
        client.cancel(task_id)
    assert len(list(client.list(metadata=ours, state="canceled"))) == 5


def test_the_lanes_are_counted_for_an_operator(client: Taskgate) -> None:
    handle = client.submit("text_to_image", QUICK, priority="low")
    waiting = {queue.lane: queue.waiting for queue in client.queues()}
    assert waiting["gpu-low"] >= 1
    assert (handle.explain().waiting or 0) >= 1
    handle.cancel()


def test_workers_are_seen_by_an_operator_idle_and_at_their_task_and_gone_when_they_left(
    stack: LocalStack, client: Taskgate
) -> None:
    def ours() -> list[Any]:
        # Those that an earlier test has killed are shown as lost for an hour.
        names = [f"-{worker.pid}-" for worker in workers]
        seen = client.workers().workers or ()
        return [w for w in seen if any(name in w["id"] for name in names)]

    with working(stack, 2) as workers:
        until(lambda: len([w for w in ours() if w["state"] == "idle"]) == len(workers))
        handle = client.submit("text_to_image", {**SLOW, "steps": 200})
        at_work = until(lambda: [w for w in ours() if w["task"]])
        assert [w["task"]["id"] for w in at_work] == [handle.id]
        assert sorted(w["state"] for w in ours()) == ["busy", "idle"]
        (pool,) = [p for p in client.workers().pools if p.pool == "gpu"]
        # One of an earlier test that was slow to leave and was killed may be counted for a while.
        assert min(pool.idle, pool.busy) >= 1
        handle.cancel(mode="hard")
        # One that is killed because it was slow to end would be shown as lost, and rightly so.
        assert [worker.stop(60) for worker in workers] == [0, 0]
    until(lambda: not ours())


def swept(stack: LocalStack) -> bool:
    stack.sweep()
    return True
