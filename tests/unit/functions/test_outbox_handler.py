"""The outbox is woken in three ways, and none of them loses or repeats what it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.outbox_callback.handler import newly_owed, run
from taskgate.aws.codec import encode
from taskgate.errors import Unavailable
from taskgate.gateway.steer import telling
from taskgate.lifecycle import owing
from taskgate.lifecycle.change import applied
from taskgate.lifecycle.states import State
from taskgate.task import Task
from taskgate.testing.factories import T0, stamp
from tests.unit.gateway.test_settling import DOWN, OK, Post, callback
from tests.unit.gateway.test_worker_gateway import WHO


def image(task: Task, shard: str | None) -> dict[str, Any]:
    item: dict[str, Any] = {"pk": {"S": f"TASK#{task.id}"}, "sk": {"S": "TASK"}}
    clock = {"clock_shard": {"S": shard}, "due_at": {"N": str(T0)}} if shard else {}
    return item | clock


def change(task: Task, old: str | None, new: str | None, number: int = 1) -> dict[str, Any]:
    return record(image(task, old), image(task, new), number)


def record(old: Any, new: Any, number: int = 1) -> dict[str, Any]:
    images = {"SequenceNumber": str(number), "OldImage": old, "NewImage": new}
    return {"eventSource": "aws:dynamodb", "dynamodb": images}


def errand(task_id: str, message_id: str = "m1") -> dict[str, Any]:
    body = json.dumps({"task": task_id})
    return {"eventSource": "aws:sqs", "messageId": message_id, "body": body}


@pytest.mark.parametrize(
    ("old", "new", "owed"),
    [
        ("live#03", "owed#03", True),
        (None, "owed#03", True),
        ("owed#03", "owed#03", False),
        ("owed#03", None, False),
        ("live#03", "live#03", False),
        ("live#03", None, False),
    ],
)
def test_only_a_task_that_has_just_come_to_owe_is_passed_on(
    tmp_path: Any, old: str | None, new: str | None, owed: bool
) -> None:
    task = Post().succeeded(tmp_path)
    assert newly_owed(change(task, old, new)) is owed


def test_a_change_of_the_stream_becomes_an_errand_and_no_request(tmp_path: Any) -> None:
    post = Post(OK)
    task = post.succeeded(tmp_path, callback=callback())
    records = [change(task, "live#03", "owed#03")]
    assert run(post.outbox, {"Records": records}, 30_000) == {"batchItemFailures": []}
    assert [task_id for _, task_id, _ in post.errands.sent] == [task.id]
    assert post.letters.sent == []


def changes(post: Post, do: Callable[[], object], task_id: str) -> dict[str, Any]:
    """The stream's record of what `do` does to the task."""
    before = encode(post.task(task_id), 16)
    do()
    return record(before, encode(post.task(task_id), 16))


def test_a_callback_that_waits_for_its_next_try_is_sent_at_once_when_it_is_asked_for(
    tmp_path: Any,
) -> None:
    post = Post(DOWN, OK)
    task = post.succeeded(tmp_path, callback=callback())
    post.outbox.settle(task.id)
    post.errands.sent.clear()
    asked = changes(post, lambda: telling.redeliver(post.world.ports, WHO, task.id), task.id)
    run(post.outbox, {"Records": [asked]}, 30_000)
    assert [sent[1] for sent in post.errands.sent] == [task.id]
    assert post.outbox.settle(task.id) == "delivered"


def test_an_attempt_that_failed_is_no_reason_to_look_at_once(tmp_path: Any) -> None:
    post = Post(DOWN)
    task = post.succeeded(tmp_path, callback=callback())
    underway = record(
        encode(applied(task, owing.begun(task, stamp(post.world.clock()))), 16),
        changes(post, lambda: post.outbox.settle(task.id), task.id)["dynamodb"]["NewImage"],
    )
    post.errands.sent.clear()
    run(post.outbox, {"Records": [underway]}, 30_000)
    assert post.errands.sent == []


def test_a_change_that_cannot_be_passed_on_is_named_and_those_after_it_come_again(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Post()
    task = post.succeeded(tmp_path, callback=callback())

    def busy(task_id: str, delay: int, news: str | None = None) -> None:
        raise Unavailable

    monkeypatch.setattr(post.errands, "send", busy)
    records = [change(task, None, None, 1), change(task, "live#1", "owed#1", 2)]
    answer = run(post.outbox, {"Records": records}, 30_000)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "2"}]}


BAD_CHANGES = {
    "no image at all": {"dynamodb": {"SequenceNumber": "9"}},
    "no key": {"dynamodb": {"NewImage": {"clock_shard": {"S": "owed#01"}}}},
    "a key that is no text": {
        "dynamodb": {"NewImage": {"clock_shard": {"S": "owed#01"}, "pk": {"N": "1"}}}
    },
    "no change": {},
    "null": {"dynamodb": None},
}


@pytest.mark.parametrize("name", BAD_CHANGES)
def test_a_change_that_always_breaks_among_20_holds_up_none_of_the_19(
    name: str, tmp_path: Any
) -> None:
    post = Post(OK)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(19)]
    records = [change(task, None, "owed#1", n) for n, task in enumerate(tasks)]
    records.insert(7, {"eventID": "e7", **BAD_CHANGES[name]})
    assert run(post.outbox, {"Records": records}, 30_000) == {"batchItemFailures": []}
    assert [task_id for _, task_id, _ in post.errands.sent] == [task.id for task in tasks]


def test_an_errand_is_one_look_at_one_task(tmp_path: Any) -> None:
    post = Post(OK)
    task = post.succeeded(tmp_path, callback=callback())
    for _ in range(2):
        assert run(post.outbox, {"Records": [errand(task.id)]}, 30_000) == {"batchItemFailures": []}
    assert len(post.letters.sent) == 1


def test_an_errand_that_is_not_ours_is_named_and_harms_nothing(tmp_path: Any) -> None:
    post = Post(OK)
    strange = {"eventSource": "aws:sqs", "messageId": "m9", "body": "[]"}
    assert run(post.outbox, {"Records": [strange]}, 30_000) == {
        "batchItemFailures": [{"itemIdentifier": "m9"}]
    }


def test_the_tick_sends_an_errand_for_every_debt_that_is_due(tmp_path: Any) -> None:
    post = Post(DOWN)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(5)]
    assert run(post.outbox, {"source": "aws.events"}, 30_000) == {"errands": 5}
    assert {task_id for _, task_id, _ in post.errands.sent} == {t.id for t in tasks}
    assert all(post.task(t.id).state is State.SUCCEEDED for t in tasks)
