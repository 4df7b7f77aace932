"""Callbacks and chains on the deployed local stack: real stream, real queue, real HTTP, real workers.

Attempts are minutes and hours apart by design; a test brings a task's clock forward and wakes the
outbox, as its backstop does each minute. Nothing else about it is made quicker.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import FollowUp, Task, Taskgate, TaskHandle
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.receivers import FAILURES, SLOT_MS
from taskgate.task import Owner
from taskgate.testing.receiver import Receiver, breaks_off, hangs, redirects, says
from tests.e2e.waiting import PATIENCE, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("callbacks")]

QUICK = {"prompt": "x", "steps": 1, "width": 64, "height": 64}
FINISH = {"image": {"$result": "image.png"}, "factor": 2}


@pytest.fixture(scope="module")
def client(stack: LocalStack) -> Iterator[Taskgate]:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    key = issue(keys, Owner("told", "tilda"), SCOPES, max_pending=500)
    with Taskgate(stack.api_url, key) as made:
        yield made


@contextmanager
def working(stack: LocalStack, *pools: str) -> Iterator[None]:
    workers = [stack.start_worker(pool) for pool in pools]
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()


def tried(stack: LocalStack, handle: TaskHandle, times: int) -> None:
    """So many attempts were made; the time of each comes as soon as the one before it has failed."""
    brought = {0, 1}  # the second comes by itself after some seconds, and might be under way by now

    def enough() -> bool:
        callback = handle.callback()
        if callback.tries < times and callback.tries not in brought:
            brought.add(callback.tries)
            assert callback.state == "pending"
            bring_forward(stack, handle.id)
        return callback.tries >= times

    until(enough)


def bring_forward(stack: LocalStack, task_id: str) -> None:
    """The time of the next attempt has come."""
    now = {"N": str(round(time.time() * 1000))}
    stack.client("dynamodb").update_item(
        TableName=stack.environment.tasks_table,
        Key={"pk": {"S": f"TASK#{task_id}"}, "sk": {"S": "TASK"}},
        UpdateExpression="SET #owed = :now, #due = :now",
        ConditionExpression="attribute_exists(#owed)",
        ExpressionAttributeNames={"#owed": "owed_at", "#due": "due_at"},
        ExpressionAttributeValues={":now": now},
    )
    stack.settle()


def ended(handles: list[TaskHandle], seconds: float) -> None:
    for handle in handles:
        handle.wait(timeout=seconds)


def test_a_receiver_that_fails_in_every_way_gets_the_event_once_it_answers_and_each_attempt_is_listed(
    stack: LocalStack, client: Taskgate
) -> None:
    script = (
        says(500),
        says(500),
        says(500),
        hangs(30),
        redirects("http://127.0.0.1:9/"),
        breaks_off(),
        says(200),
    )
    with Receiver(*script, secrets=client.webhook_secrets()) as receiver, working(stack, "gpu"):
        handle = client.submit("text_to_image", QUICK, callback_url=receiver.url)
        handle.wait(timeout=PATIENCE)
        tried(stack, handle, len(script))
        callback = handle.callback()
        arrived = list(receiver.arrived)
    assert callback.delivered
    assert [(t.status, t.reason) for t in callback.latest] == [
        (500, "server_error"),
        (500, "server_error"),
        (500, "server_error"),
        (None, "timeout"),
        (302, "redirect"),
        (None, "reset"),
        (200, "ok"),
    ]
    assert 9_000 <= callback.latest[3].ms < 30_000, "it is cut off before the receiver would answer"
    assert len(arrived) == len(script)
    assert len({request.headers["webhook-id"] for request in arrived}) == 1
    assert len({request.body for request in arrived}) == 1
    assert all(request.event and request.event["data"]["id"] == handle.id for request in arrived)
    print("attempts:", [(t.status, t.reason, t.ms) for t in callback.latest])  # noqa: T201 - the figure is the show


def test_a_callback_comes_within_seconds_of_the_end_and_once_more_when_asked_for(
    stack: LocalStack, client: Taskgate
) -> None:
    with Receiver(secrets=client.webhook_secrets()) as receiver, working(stack, "gpu"):
        handle = client.submit("text_to_image", QUICK, callback_url=receiver.url)
        handle.wait(timeout=PATIENCE)
        (first,) = receiver.wait_for(1, PATIENCE)
        until(lambda: handle.callback().delivered)
        assert handle.redeliver().state == "pending"
        _, second = receiver.wait_for(2, PATIENCE)
        until(lambda: handle.callback().delivered)
    assert first.event is not None
    after = first.at - datetime.fromisoformat(first.event["data"]["ended_at"]).timestamp()
    print(f"from end to delivery: {after:.2f} s")  # noqa: T201 - the figure is the show
    assert after < 50, "sooner than the backstop, which looks each minute"
    assert handle.callback().tries == 2
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_a_callback_that_waits_for_its_next_try_is_sent_at_once_when_it_is_asked_for(
    stack: LocalStack, client: Taskgate
) -> None:
    down = (says(500),) * 3
    with (
        Receiver(*down, says(204), secrets=client.webhook_secrets()) as receiver,
        working(stack, "gpu"),
    ):
        handle = client.submit("text_to_image", QUICK, callback_url=receiver.url)
        handle.wait(timeout=PATIENCE)
        tried(stack, handle, len(down))
        told = handle.explain()
        assert (told.owes, told.actions) == (("callback",), ("redeliver",))
        assert "3 attempts so far, the last one: server_error 500" in " ".join(told.sentences)
        asked = time.time()
        handle.redeliver()
        receiver.wait_for(len(down) + 1, PATIENCE)
        until(lambda: handle.callback().delivered)
    after = receiver.arrived[-1].at - asked
    print(f"from the request to have it sent again to its arrival: {after:.2f} s")  # noqa: T201 - the figure is the show
    assert handle.get().history[-1].verb == "redeliver"


def test_a_chain_runs_to_its_end_and_each_of_its_tasks_is_told_of(
    stack: LocalStack, client: Taskgate, tmp_path: Any
) -> None:
    with Receiver(secrets=client.webhook_secrets()) as receiver, working(stack, "gpu", "cpu"):
        follow = FollowUp(type="finish_image", input=FINISH, callback_url=receiver.url)
        handle = client.submit("text_to_image", QUICK, callback_url=receiver.url, then=[follow])
        whole = until(lambda: _settled(handle))
        arrived = receiver.wait_for(2, PATIENCE)
        (child,) = handle.children
        (picture,) = child.download(tmp_path)
    assert whole.chain == "succeeded"
    assert child.get().parent == handle.id
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {r.event["data"]["id"] for r in arrived if r.event} == {handle.id, child.id}


def test_what_follows_a_task_that_failed_is_canceled_with_the_reason(
    stack: LocalStack, client: Taskgate
) -> None:
    last = FollowUp(type="embed_document", input={"text": "never"})
    middle = FollowUp(type="finish_image", input=FINISH, then=[last])
    # A reference to a file that is not there: the middle of the chain fails by itself.
    broken = replace(middle, input={"image": {"$result": "no_such.png"}})
    with working(stack, "gpu"):
        handle = client.submit("text_to_image", QUICK, then=[broken])
        whole = until(lambda: _settled(handle))
        canceled = client.submit("text_to_image", QUICK, then=[middle], delay=3600)
        canceled.cancel("hard")
        other = until(lambda: _settled(canceled))
    (child,) = handle.children
    (grandchild,) = child.children
    assert (whole.chain, child.get().state) == ("failed", "failed")
    assert grandchild.get().state == "canceled"
    assert _message(grandchild.get()) == f"{child.id} ended failed"
    assert other.chain == "canceled"
    assert _message(canceled.children[0].get()) == f"{canceled.id} ended canceled"


def test_a_receiver_that_was_down_for_a_whole_run_gets_every_callback_and_no_storm(
    stack: LocalStack, client: Taskgate
) -> None:
    count, receiver = 40, Receiver(secrets=client.webhook_secrets(), down=True)
    with working(stack, "gpu"):
        url = receiver.url
        handles = [
            client.submit("text_to_image", QUICK, callback_url=url, priority="high")
            for _ in range(count)
        ]
        ended(handles, PATIENCE)
    until(lambda: all(map(_tried_or_put_off, handles)))
    attempts = sum(h.callback().tries for h in handles)
    assert not any(h.callback().delivered for h in handles)
    up_at = time.time()
    with receiver:
        until(lambda: len({r.headers["webhook-id"] for r in list(receiver.arrived)}) == count, 600)
        until(lambda: all(h.callback().delivered for h in handles))
        arrived = sorted(r.at for r in receiver.arrived)
        bodies = [r.event for r in receiver.arrived]
    told = {event["data"]["id"] for event in bodies if event}
    assert told == {h.id for h in handles}
    busiest = max(sum(at <= other < at + 1 for other in arrived) for at in arrived)
    print(  # noqa: T201 - the figures are the show
        f"{count} callbacks; while the receiver was down {attempts} attempts; then the first after"
        f" {arrived[0] - up_at:.1f} s, the last after {arrived[-1] - up_at:.1f} s, at most {busiest}"
        f" in a second, {len(arrived)} requests; median {statistics.median(arrived) - up_at:.1f} s"
    )
    assert attempts < count
    # Each has a turn of its own, 100 ms after another's; a machine that is busy with twenty functions
    # on two processors is late for some, and they meet the next ones.
    assert busiest <= 3 * 1000 // SLOT_MS + FAILURES < count


def _settled(handle: TaskHandle) -> Task | None:
    task = handle.get()
    return task if task.chain != "running" else None


def _tried_or_put_off(handle: TaskHandle) -> bool:
    task = handle.get()
    assert task.callback is not None
    assert task.ended_at is not None
    later = task.callback.next_try_at
    return bool(task.callback.tries or (later and later > task.ended_at + timedelta(seconds=5)))


def _message(task: Task) -> str:
    return task.error.message if task.error else ""
