"""What is told after the end and what follows, from Python."""

import pytest

from taskgate.client import FollowUp, Refused, Taskgate
from taskgate.testing.fake_gateway import Answer, FakeGateway

TASK = "/v1/tasks/task_1"
QUEUED = Answer(202, {"id": "task_1", "state": "queued"})
CALLBACK = {
    "url": "https://a.example.com/",
    "events": ["task.failed"],
    "state": "pending",
    "tries": 1,
    "next_try_at": "2026-07-01T09:00:05.000Z",
    "latest": [
        {"at": "2026-07-01T09:00:00.000Z", "status": None, "ms": 12, "reason": "tls", "detail": "x"}
    ],
}


def test_a_submit_names_whom_to_tell_and_what_follows(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("POST /v1/tasks", QUEUED)
    last = {"type": "c", "input": {}}
    client.submit(
        "a",
        {},
        callback_url="https://a.example.com/",
        callback_events=("task.failed",),
        then=[FollowUp(type="b", input={"x": {"$output": "y"}}, priority="low", then=[last])],
    )
    body = gateway.seen[0].json
    assert body["callback_url"] == "https://a.example.com/"
    assert body["callback_events"] == ["task.failed"]
    assert body["then"] == [
        {"type": "b", "input": {"x": {"$output": "y"}}, "priority": "low", "then": [last]}
    ]


def test_a_submit_without_them_sends_nothing_of_them(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("POST /v1/tasks", QUEUED)
    client.submit("a", {})
    assert set(gateway.seen[0].json) == {"type", "input", "priority"}


def test_a_callback_comes_with_its_attempts(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(f"GET {TASK}/callback", Answer(body={"id": "task_1", **CALLBACK}))
    callback = client.handle("task_1").callback()
    assert (callback.state, callback.tries, callback.delivered) == ("pending", 1, False)
    assert callback.next_try_at is not None
    (tried,) = callback.latest
    assert (tried.status, tried.ms, tried.reason, tried.detail) == (None, 12, "tls", "x")


def test_a_task_comes_with_its_callback_its_parent_and_its_children(
    gateway: FakeGateway, client: Taskgate
) -> None:
    body = {
        "id": "task_1",
        "state": "succeeded",
        "callback": CALLBACK,
        "parent": "task_0",
        "children": [
            {"id": "task_2", "type": "b", "state": "queued"},
            {"id": "task_3", "type": None, "state": None},
        ],
        "chain": {"state": "running"},
    }
    gateway.answers(f"GET {TASK}", Answer(body=body))
    task = client.get("task_1")
    assert task.callback is not None
    assert (task.parent, task.chain) == ("task_0", "running")
    assert [(c.id, c.state) for c in task.children] == [("task_2", "queued"), ("task_3", None)]
    assert [handle.id for handle in client.handle("task_1").children] == ["task_2", "task_3"]


def test_a_redelivery_whose_answer_was_lost_is_asked_for_again(
    gateway: FakeGateway, client: Taskgate
) -> None:
    answer = Answer(202, {"id": "task_1", **CALLBACK})
    gateway.answers(f"POST {TASK}/callback/redeliver", Answer(lost=True), answer)
    assert client.handle("task_1").redeliver().state == "pending"
    assert len(gateway.seen) == 2


def test_a_task_without_a_callback_has_none_to_show(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(f"GET {TASK}/callback", Answer(409, {"code": "no_callback"}))
    with pytest.raises(Refused) as refused:
        client.callback("task_1")
    assert refused.value.code == "no_callback"


def test_the_secrets_are_a_tuple_with_the_newest_first(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("GET /v1/webhook-secrets", Answer(body={"secrets": ["whsec_b", "whsec_a"]}))
    assert client.webhook_secrets() == ("whsec_b", "whsec_a")


def test_one_event_and_one_follow_up_may_be_given_alone(
    gateway: FakeGateway, client: Taskgate
) -> None:
    """A text is a sequence of its letters, and a mapping one of its keys."""
    gateway.answers("POST /v1/tasks", Answer(202, {"id": "task_1", "state": "queued"}))
    alone = FollowUp(
        type="b", input={}, callback_url="https://x.example", callback_events="task.failed"
    )
    for then in (alone, {"type": "b", "input": {}}):
        client.submit(
            "a", {}, callback_url="https://x.example", callback_events="task.failed", then=then
        )
    first, second = (seen.json for seen in gateway.asked("POST /v1/tasks"))
    assert first["callback_events"] == ["task.failed"]
    assert first["then"][0]["callback_events"] == ["task.failed"]
    assert second["then"] == [{"type": "b", "input": {}}]


def test_no_event_at_all_is_sent_as_such_and_not_taken_for_the_usual_ones(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("POST /v1/tasks", Answer(202, {"id": "task_1", "state": "queued"}))
    client.submit("a", {}, then=FollowUp(type="b", input={}, callback_events=[]))
    assert gateway.seen[0].json["then"][0]["callback_events"] == []
