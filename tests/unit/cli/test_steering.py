import json
import time

import pytest

from taskgate.testing.fake_gateway import Answer, FakeGateway

TASK = "/v1/tasks/task_1"


@pytest.mark.parametrize("verb", ["recover", "fail", "pause", "resume", "retry"])
def test_a_verb_sends_its_reason_and_shows_the_task_as_it_then_is(
    gateway: FakeGateway, run, look, verb: str
) -> None:
    gateway.answers(f"POST {TASK}/{verb}", look("queued"))
    ran = run(verb, "task_1", "--reason", "the GPU is gone")
    assert ran.code == 0
    assert gateway.seen[0].json == {"reason": "the GPU is gone"}
    assert "task_1" in ran.stdout
    assert "queued" in ran.stdout
    assert json.loads(run(verb, "task_1", "--json").stdout)["state"] == "queued"


@pytest.mark.parametrize(
    ("span", "seconds"), [("90", 90), ("45s", 45), ("10m", 600), ("2h", 7200), ("1D", 86_400)]
)
def test_an_extension_is_typed_as_people_say_it(
    gateway: FakeGateway, run, look, span: str, seconds: int
) -> None:
    gateway.answers(f"POST {TASK}/extend", look("processing"))
    assert run("extend", "task_1", span).code == 0
    assert gateway.seen[0].json == {"seconds": seconds, "reason": ""}


def test_a_verb_that_the_state_does_not_allow_is_4_and_the_advice_is_to_ask_why(
    gateway: FakeGateway, run
) -> None:
    problem = {
        "code": "verb_not_allowed",
        "detail": "A task that is queued cannot be extended.",
        "state": "queued",
    }
    gateway.answers(f"POST {TASK}/extend", Answer(409, problem))
    ran = run("extend", "task_1", "10m")
    assert ran.code == 4
    assert "A task that is queued" in ran.stderr
    assert "taskgate explain" in ran.stderr


def test_an_extension_whose_answer_is_lost_is_not_sent_again(gateway: FakeGateway, run) -> None:
    gateway.answers(f"POST {TASK}/extend", Answer(lost=True))
    assert run("extend", "task_1", "10m").code == 5
    assert len(gateway.seen) == 1


def test_a_task_is_submitted_for_later_and_moved(gateway: FakeGateway, run, look) -> None:
    gateway.answers("POST /v1/tasks", look("scheduled"))
    gateway.answers(f"POST {TASK}/reschedule", look("scheduled"))
    run("submit", "a", "--in", "10m")
    run("submit", "a", "--at", "2026-07-01T09:00:00+02:00")
    run("reschedule", "task_1", "--in", "1h", "--reason", "later")
    bodies = [seen.json for seen in gateway.seen]
    assert bodies[0]["delay"] == 600
    assert "run_at" not in bodies[0]
    assert bodies[1]["run_at"] == "2026-07-01T09:00:00.000+02:00"
    assert bodies[2] == {"delay": 3600, "reason": "later"}


def test_a_task_that_waits_gets_another_priority(gateway: FakeGateway, run, look) -> None:
    gateway.answers(f"POST {TASK}/priority", look("queued"))
    assert run("priority", "task_1", "low", "--reason", "no hurry").code == 0
    assert gateway.seen[0].json == {"priority": "low", "reason": "no hurry"}
    assert run("priority", "task_1", "urgent").code == 2


def test_a_time_without_an_offset_is_the_time_of_this_machine(
    gateway: FakeGateway, run, look, monkeypatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        gateway.answers("POST /v1/tasks", look("scheduled"))
        run("submit", "a", "--at", "2026-07-01T09:00")
        assert gateway.seen[0].json["run_at"] == "2026-07-01T09:00:00.000+09:00"
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize(
    "arguments",
    [
        ["submit", "a", "--in", "10m", "--at", "2026-07-01T09:00"],
        ["submit", "a", "--in", "soon"],
        ["submit", "a", "--at", "soon"],
        ["reschedule", "task_1"],
        ["reschedule", "task_1", "--in", "1m", "--at", "2026-07-01T09:00"],
        ["extend", "task_1", "-5"],
        ["list", "--since", "yesterday"],
    ],
)
def test_a_span_or_time_that_is_none_is_wrong_usage_and_the_gateway_is_not_asked(
    gateway: FakeGateway, run, arguments: list[str]
) -> None:
    assert run(*arguments).code == 2
    assert gateway.seen == []


def test_own_limits_are_sent_in_seconds(gateway: FakeGateway, run, look) -> None:
    gateway.answers("POST /v1/tasks", look("queued"))
    run("submit", "a", "--queue-timeout", "5m", "--run-timeout", "1h", "--deadline", "1d")
    assert gateway.seen[0].json["timeouts"] == {
        "queue_seconds": 300,
        "run_seconds": 3600,
        "deadline_seconds": 86_400,
    }


EXPLAINED = {
    "id": "task_1",
    "state": "stalled",
    "why": "Attempt 1 is suspected.",
    "sentences": ["Attempt 1 is suspected.", "It waits for \x1b[31mits worker."],
    "actions": ["cancel", "recover"],
    "lane": {"name": "gpu-normal", "waiting": None},
}


def test_explain_says_why_and_what_may_be_asked(gateway: FakeGateway, run) -> None:
    gateway.answers(f"GET {TASK}/explain", Answer(body=EXPLAINED))
    ran = run("explain", "task_1")
    assert ran.stdout.splitlines()[0] == "task_1  stalled"
    assert "Attempt 1 is suspected." in ran.stdout
    assert "\x1b" not in ran.stdout
    assert "taskgate recover task_1" in ran.stderr
    assert json.loads(run("explain", "task_1", "--json").stdout) == EXPLAINED


def test_queues_show_each_lane(gateway: FakeGateway, run) -> None:
    lane = {"lane": "gpu-high", "pool": "gpu", "priority": "high", "waiting": 7}
    gateway.answers("GET /v1/queues", Answer(body={"queues": [lane]}))
    assert "gpu-high  7" in run("queues").stdout
    assert json.loads(run("queues", "--json").stdout) == {"queues": [lane]}


def test_a_list_is_asked_for_by_filter(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/tasks", Answer(body={"tasks": [], "next_cursor": None}))
    at = "2026-07-01T09:00:00Z"
    run("list", "--state", "failed,timed_out", "--type", "a", "-m", "run=7", "--since", at)
    query = dict(gateway.seen[0].query)
    since = query.pop("since")
    assert query == {
        "limit": "20",
        "state": "failed,timed_out",
        "type": "a",
        "metadata.run": "7",
    }
    assert since.startswith("2026-07-01T")


POOL = {"pool": "gpu", "idle": 0, "busy": 1, "draining": 0, "lost": 0}
WORKER = {
    "id": "host-1-ab",
    "pool": "gpu",
    "state": "busy",
    "version": "0.1.0",
    "started_at": "2026-09-21T14:13:20.000Z",
    "last_beat_at": "2026-09-21T14:13:25.000Z",
    "task": {"id": "task_1", "type": "a", "attempt": 1},
    "gpu": {"model": "\x1b[31mT4", "memory_mib": 15360},
}


def test_workers_show_each_pool_and_to_an_operator_each_worker(gateway: FakeGateway, run) -> None:
    body = {"pools": [POOL], "workers": [WORKER]}
    gateway.answers("GET /v1/workers", Answer(body=body))
    ran = run("workers")
    assert "host-1-ab" in ran.stdout
    assert "task_1" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert json.loads(run("workers", "--json").stdout) == body


def test_workers_say_when_nobody_is_there(gateway: FakeGateway, run) -> None:
    body = {"pools": [POOL | {"busy": 0, "lost": 2}], "workers": None}
    gateway.answers("GET /v1/workers", Answer(body=body))
    assert "no worker is there" in run("workers").stderr


CANCEL = {
    "mode": "soft",
    "asked_at": "2026-01-02T03:04:05.000Z",
    "asked_by": "user:ada",
    "seen_at": "2026-01-02T03:04:09.000Z",
    "stopped_at": None,
    "enforced": False,
}


def test_a_cancel_says_what_came_of_it(gateway: FakeGateway, run, look) -> None:
    late = "Too late: it had ended as succeeded before."
    gateway.answers(
        "POST /v1/tasks/task_1/cancel", look("succeeded", outcome="too_late", told=late)
    )
    ran = run("cancel", "task_1")
    assert ran.code == 0
    assert late in ran.stderr


def test_a_task_shows_how_far_its_cancel_is_and_what_it_was_given(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers("GET /v1/tasks/task_1", look("canceling", cancel=CANCEL))
    shown = run("get", "task_1").stdout
    assert "soft cancel by user:ada" in shown
    assert shown.count("04:05.000") == shown.count("04:09.000") == 1
    assert "stopped –" in shown
    gateway.answers("GET /v1/tasks/task_1", look("succeeded", reused_from="task_0"))
    assert "the result of task_0, reused" in run("get", "task_1").stdout


def test_a_submit_that_ended_at_once_says_so_and_one_may_refuse_that(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers("POST /v1/tasks", look("succeeded", reused_from="task_0"))
    ran = run("submit", "embed_document", "-i", "text=x")
    assert "ended at once, with the result of task_0" in ran.stdout
    run("submit", "embed_document", "-i", "text=x", "--no-reuse")
    assert [seen.json.get("reuse") for seen in gateway.seen] == [None, False]
