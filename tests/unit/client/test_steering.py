from datetime import UTC, datetime, timedelta, timezone

import pytest

from taskgate.client import Refused, ServerError, Taskgate, Unreachable, Unsendable
from taskgate.testing.fake_gateway import Answer, FakeGateway

TASK = "/v1/tasks/task_1"
QUEUED = Answer(body={"id": "task_1", "state": "queued"})
LATER = datetime(2026, 7, 1, 9, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize("verb", ["recover", "fail", "pause", "resume", "retry"])
def test_a_verb_whose_answer_was_lost_is_asked_for_again(
    gateway: FakeGateway, client: Taskgate, verb: str
) -> None:
    gateway.answers(f"POST {TASK}/{verb}", Answer(lost=True), Answer(503), QUEUED)
    task = getattr(client.handle("task_1"), verb)("why")
    assert task.state == "queued"
    assert [seen.json for seen in gateway.seen] == [{"reason": "why"}] * 3


@pytest.mark.parametrize(
    ("answer", "raised"), [(Answer(lost=True), Unreachable), (Answer(503), ServerError)]
)
def test_an_extension_is_sent_once_since_each_adds_its_seconds(
    gateway: FakeGateway, client: Taskgate, answer: Answer, raised: type[Exception]
) -> None:
    gateway.answers(f"POST {TASK}/extend", answer, QUEUED)
    with pytest.raises(raised):
        client.handle("task_1").extend(60)
    assert len(gateway.seen) == 1


@pytest.mark.parametrize("span", [600, 599.2, timedelta(minutes=10)])
def test_an_extension_is_seconds_or_a_timedelta(
    gateway: FakeGateway, client: Taskgate, span: float | timedelta
) -> None:
    gateway.answers(f"POST {TASK}/extend", QUEUED)
    client.handle("task_1").extend(span, "slow")
    assert gateway.seen[0].json == {"seconds": 600, "reason": "slow"}


def test_a_verb_that_the_state_does_not_allow_is_a_refusal(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(f"POST {TASK}/retry", Answer(409, {"code": "verb_not_allowed"}))
    with pytest.raises(Refused) as refused:
        client.handle("task_1").retry()
    assert refused.value.code == "verb_not_allowed"


def test_a_task_is_submitted_for_a_time_or_after_a_delay(
    gateway: FakeGateway, client: Taskgate
) -> None:
    task = {"id": "task_1", "state": "scheduled", "run_at": "2026-07-01T07:00:00.000Z"}
    gateway.answers("POST /v1/tasks", Answer(202, task))
    handle = client.submit("a", {}, run_at=LATER)
    client.submit("a", {}, delay=timedelta(hours=1), timeouts={"run_seconds": 60})
    first, second = (seen.json for seen in gateway.seen)
    assert first["run_at"] == "2026-07-01T09:00:00.000+02:00"
    assert handle.submitted.run_at == LATER
    assert (second["delay"], second["timeouts"]) == (3600, {"run_seconds": 60})


def test_a_time_without_a_zone_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate
) -> None:
    with pytest.raises(Unsendable, match="time zone"):
        client.submit("a", {}, run_at=LATER.replace(tzinfo=None))
    assert gateway.seen == []


def test_a_scheduled_task_is_moved(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(f"POST {TASK}/reschedule", QUEUED)
    client.handle("task_1").reschedule(run_at=LATER, reason="later")
    client.handle("task_1").reschedule(delay=30)
    assert gateway.seen[0].json == {"run_at": "2026-07-01T09:00:00.000+02:00", "reason": "later"}
    assert gateway.seen[1].json == {"delay": 30, "reason": ""}


def test_a_waiting_task_gets_another_priority(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(f"POST {TASK}/priority", QUEUED)
    client.handle("task_1").prioritize("high", "a customer waits")
    assert gateway.seen[0].json == {"priority": "high", "reason": "a customer waits"}


def test_an_explanation_is_read_as_far_as_it_goes(gateway: FakeGateway, client: Taskgate) -> None:
    body = {
        "id": "task_1",
        "state": "processing",
        "why": "Attempt 1 runs.",
        "waits_for": "its worker",
        "sentences": ["Attempt 1 runs."],
        "actions": ["cancel", "extend"],
        "next_look": {"at": "2026-07-01T07:00:00.000Z", "by": "2026-07-01T07:01:00.000Z"},
        "next_limit": {"name": "run_timeout", "at": "2026-07-01T08:00:00.000Z", "then": "stalled"},
        "holder": {"worker": "w1", "last_sign_at": "2026-07-01T06:59:00.000Z"},
        "lane": {"name": "gpu-low", "waiting": None},
    }
    gateway.answers(f"GET {TASK}/explain", Answer(body=body))
    told = client.handle("task_1").explain()
    assert (told.worker, told.next_limit, told.waiting) == ("w1", "run_timeout", None)
    assert told.next_look_by == datetime(2026, 7, 1, 7, 1, tzinfo=UTC)
    gateway.answers(f"GET {TASK}/explain", Answer(body={"id": "task_1", "state": "failed"}))
    assert client.explain("task_1").waits_for is None


def test_the_queues_are_read(gateway: FakeGateway, client: Taskgate) -> None:
    lane = {"lane": "gpu-low", "pool": "gpu", "priority": "low", "waiting": 3}
    gateway.answers("GET /v1/queues", Answer(body={"queues": [lane]}))
    assert [(q.lane, q.waiting) for q in client.queues()] == [("gpu-low", 3)]


def test_a_list_by_filter_keeps_its_filter_on_every_page(
    gateway: FakeGateway, client: Taskgate
) -> None:
    first = Answer(body={"tasks": [], "next_cursor": "c1"})
    last = Answer(body={"tasks": [{"id": "task_1"}], "next_cursor": None})
    gateway.answers("GET /v1/tasks", first, last)
    found = client.list(state=["failed", "timed_out"], type="a", since=LATER, metadata={"run": "7"})
    assert [task.id for task in found] == ["task_1"]
    wanted = {
        "limit": "50",
        "state": "failed,timed_out",
        "type": "a",
        "since": "2026-07-01T09:00:00.000+02:00",
        "metadata.run": "7",
    }
    assert [dict(seen.query) for seen in gateway.seen] == [wanted, {**wanted, "cursor": "c1"}]
