"""Scripts rely on these: each code of `taskgate.cli.exits`, by a command that ends with it."""

import pytest

from taskgate.testing.fake_gateway import Answer, FakeGateway

TASK = "GET /v1/tasks/task_1"
STATUS = "GET /v1/tasks/task_1/status"


def test_0_when_the_task_is_shown(gateway: FakeGateway, run, look) -> None:
    gateway.answers(TASK, look("queued"))
    assert run("get", "task_1").code == 0


@pytest.mark.parametrize("state", ["failed", "timed_out", "canceled"])
def test_1_when_the_task_ended_without_a_result(gateway: FakeGateway, run, look, state) -> None:
    gateway.answers(TASK, look(state))
    gateway.answers(STATUS, look(state))
    gateway.answers(TASK + "/result", Answer(409, {"code": "result_not_ready"}))
    for command in (["watch", "task_1"], ["watch", "task_1", "--json"], ["result", "task_1"]):
        assert run(*command).code == 1


def test_0_for_get_of_a_failed_task_since_showing_it_worked(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers(TASK, look("failed"))
    assert run("get", "task_1").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["submit"],
        ["nonsense"],
        ["submit", "a", "-i", "no equals sign"],
        ["submit", "a", "--input", "{not json"],
        ["submit", "a", "--input", "[1]"],
        ["submit", "a", "--input", '{"x": NaN}'],
        ["submit", "a", "--input", '{"x": 1, "x": 2}'],
        ["submit", "a", "--then", '{"type": "b", "type": "c"}'],
        ["get", ""],
        ["submit", "a", "--input", "@missing.json"],
        ["submit", "a", "--file", "missing.pdf"],
        ["cancel", "task_1", "--mode", "gentle"],
        ["list", "--limit", "0"],
    ],
)
def test_2_when_the_command_is_used_wrongly_and_the_gateway_is_not_asked(
    gateway: FakeGateway, run, arguments
) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert "error: " in ran.stderr.lower()
    assert gateway.seen == []


def test_2_when_no_gateway_is_named(gateway: FakeGateway, run, monkeypatch) -> None:
    monkeypatch.delenv("TASKGATE_URL")
    ran = run("get", "task_1")
    assert ran.code == 2
    assert "TASKGATE_URL" in ran.stderr


def test_3_when_there_is_no_such_task(gateway: FakeGateway, run) -> None:
    ran = run("get", "task_1")
    assert ran.code == 3
    assert ran.stderr.splitlines() == [
        "error: There is no such task.",
        "       `taskgate list` shows your tasks.",
    ]


def test_4_when_the_gateway_refuses_and_the_field_is_named(gateway: FakeGateway, run) -> None:
    problem = {
        "detail": "The input does not fit.",
        "code": "invalid_input",
        "errors": [{"field": "input.steps", "message": "at most 200"}],
    }
    gateway.answers("POST /v1/tasks", Answer(422, problem))
    ran = run("submit", "text_to_image", "-i", "steps=999")
    assert ran.code == 4
    assert "input.steps: at most 200" in ran.stderr
    assert len(ran.stderr.splitlines()) == 2


def test_4_when_the_key_is_refused_and_the_advice_is_about_the_key(
    gateway: FakeGateway, run
) -> None:
    gateway.answers("GET /v1/stats", Answer(401, {"code": "unauthenticated"}))
    ran = run("stats")
    assert ran.code == 4
    assert "TASKGATE_API_KEY" in ran.stderr


def test_5_when_the_gateway_cannot_serve(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/stats", Answer(500, {"code": "internal_error"}))
    assert run("stats").code == 5


def test_5_when_it_broke_and_the_advice_says_how_to_find_the_task_and_the_request(
    gateway: FakeGateway, run
) -> None:
    said = {"code": "internal_error", "detail": "Something went wrong.", "instance": "r7"}
    gateway.answers("POST /v1/tasks", Answer(500, said))
    ran = run("submit", "a", "-i", "b=1", "--idempotency-key", "k7")
    assert ran.code == 5
    assert "--idempotency-key k7 and you get that one" in ran.stderr
    assert "find the request by r7" in ran.stderr


@pytest.mark.parametrize(
    ("code", "status", "advice"),
    [
        ("too_many_pending_tasks", 429, "or cancel one"),
        ("rate_limited", 429, "Wait 31 s, and send more slowly."),
        ("lane_full", 429, "Wait 31 s, or choose another priority."),
        ("priority_not_allowed", 403, "ask for another plan"),
        ("body_too_large", 413, "--file FIELD=PATH"),
        ("result_expired", 410, "Submit the task again"),
        ("http_429", 429, "the gateway as a whole"),
    ],
)
def test_each_refusal_has_advice_of_its_own(
    gateway: FakeGateway, run, code: str, status: int, advice: str
) -> None:
    gateway.answers("POST /v1/tasks", Answer(status, {"code": code}, {"Retry-After": "31"}))
    assert advice in run("submit", "a", "-i", "b=1").stderr


def test_a_wait_that_the_gateway_asks_for_is_told_at_once(gateway: FakeGateway, run) -> None:
    """A command that waits without a word looks as if it hung."""
    full = Answer(429, {"code": "lane_full", "detail": "The lane is full."}, {"Retry-After": "0"})
    gateway.answers("POST /v1/tasks", full, Answer(202, {"id": "task_1", "state": "queued"}))
    ran = run("submit", "a", "-i", "b=1", "--json")
    assert ran.code == 0
    assert ran.stderr.count("The lane is full. Trying again in") == 1
    assert ran.stdout.count("\n") == 1


def test_5_when_the_address_leads_to_another_path(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/tasks", Answer(404, {"message": "Not Found"}))
    ran = run("list")
    assert ran.code == 5
    assert "has nothing at /v1/tasks" in ran.stderr
    assert "Check the address" in ran.stderr


def test_5_when_it_is_paused_and_the_advice_says_by_whom_and_how_long(
    gateway: FakeGateway, run
) -> None:
    said = {"code": "intake_paused", "detail": "The intake is paused: we move."}
    gateway.answers("POST /v1/tasks", *[Answer(503, said, {"Retry-After": "60"})] * 9)
    ran = run("submit", "a", "-i", "b=1")
    assert ran.code == 5
    assert "operators paused it" in ran.stderr


def test_what_is_wrong_is_said_once_when_the_field_says_the_same(gateway: FakeGateway, run) -> None:
    field = {"field": "type", "message": "No such task type."}
    said = {"code": "unknown_task_type", "detail": "No such task type.", "errors": [field]}
    gateway.answers("POST /v1/tasks", Answer(422, said))
    ran = run("submit", "a", "-i", "b=1")
    assert ran.code == 4
    assert ran.stderr.count("No such task type") == 1


def test_5_when_nobody_answers(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/stats", Answer(lost=True))
    ran = run("stats")
    assert ran.code == 5
    assert "taskgate dev" in ran.stderr


def test_6_when_the_wait_is_over_and_the_id_is_still_told(gateway: FakeGateway, run, look) -> None:
    gateway.answers(TASK, look("processing"))
    gateway.answers(STATUS, look("processing"))
    ran = run("watch", "task_1", "--timeout", "0")
    assert ran.code == 6
    assert "taskgate watch task_1" in ran.stderr


def test_130_on_ctrl_c(gateway: FakeGateway, run, monkeypatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("taskgate.client.Taskgate.stats", pressed)
    assert run("stats").code == 130


def test_5_when_the_address_is_somebody_elses(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/stats", Answer(body=b"<html>"))
    ran = run("stats")
    assert ran.code == 5
    assert "TASKGATE_URL" in ran.stderr


def test_2_when_the_input_cannot_be_said_in_json(gateway: FakeGateway, run) -> None:
    assert run("submit", "a", "-i", 'x="\\ud800"').code == 2
    assert gateway.seen == []


def test_ctrl_c_while_waiting_says_how_to_find_the_task_again(
    gateway: FakeGateway, run, look, monkeypatch
) -> None:
    gateway.answers("POST /v1/tasks", look("queued"))

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("taskgate.client.TaskHandle.updates", pressed)
    ran = run("submit", "a", "--wait")
    assert ran.code == 130
    assert ran.stdout.splitlines()[0] == "task_1"
    assert "taskgate watch task_1" in ran.stderr
