import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from taskgate.cli.exits import CommandError
from taskgate.cli.listening import Heard, receiving, told
from taskgate.testing.fake_gateway import Answer, FakeGateway
from taskgate.webhooks import secrets_for, signed

TASK = "/v1/tasks/task_1"
(SECRET,) = secrets_for(bytes(range(32)), "acme", [1])
CALLBACK = {
    "id": "task_1",
    "url": "https://a.example.com/",
    "events": ["task.failed"],
    "state": "pending",
    "tries": 2,
    "next_try_at": "2026-07-01T09:00:05.000Z",
    "latest": [
        {"at": "2026-07-01T09:00:00.000Z", "status": 301, "ms": 7, "reason": "redirect"},
        {"at": "2026-07-01T09:00:01.000Z", "status": None, "ms": 9, "reason": "tls"},
    ],
}


def test_a_submit_takes_a_callback_and_what_follows(
    gateway: FakeGateway, run, tmp_path: Path
) -> None:
    gateway.answers("POST /v1/tasks", Answer(202, {"id": "task_1", "state": "queued"}))
    (tmp_path / "then.json").write_text('{"type": "finish_image", "input": {}}')
    asked = ("--callback-url", "https://a.example.com/", "--callback-events", "task.failed")
    assert run("submit", "t", *asked, "--then", "@then.json").code == 0
    body = gateway.seen[0].json
    assert body["callback_url"] == "https://a.example.com/"
    assert body["callback_events"] == ["task.failed"]
    assert body["then"] == [{"type": "finish_image", "input": {}}]


def test_what_follows_must_be_json(gateway: FakeGateway, run) -> None:
    ran = run("submit", "t", "--then", "{")
    assert ran.code == 2
    assert "--then is not JSON" in ran.stderr
    assert not gateway.seen


@pytest.mark.parametrize(
    ("command", "route", "status"),
    [
        ("callback", f"GET {TASK}/callback", 200),
        ("redeliver", f"POST {TASK}/callback/redeliver", 202),
    ],
)
def test_a_callback_is_shown_with_its_attempts(
    gateway: FakeGateway, run, command: str, route: str, status: int
) -> None:
    gateway.answers(route, Answer(status, CALLBACK))
    ran = run(command, "task_1")
    assert ran.code == 0
    for word in ("https://a.example.com/", "pending", "2 tries", "301", "redirect", "tls"):
        assert word in ran.stdout
    shown = json.loads(run(command, "task_1", "--json").stdout)
    assert [tried["status"] for tried in shown["latest"]] == [301, None]


def test_a_task_is_shown_with_its_callback_and_what_follows(gateway: FakeGateway, run) -> None:
    body = {
        "id": "task_1",
        "type": "t",
        "state": "succeeded",
        "callback": CALLBACK,
        "children": [{"id": "task_2", "type": None, "state": None}],
        "chain": {"state": "running"},
    }
    gateway.answers(f"GET {TASK}", Answer(body=body))
    shown = run("get", "task_1").stdout
    for word in ("redirect", "task_2", "not yet", "running"):
        assert word in shown


def test_a_task_without_a_callback_is_4_and_says_how_to_ask_for_one(
    gateway: FakeGateway, run
) -> None:
    problem = {"code": "no_callback", "detail": "The task was submitted without a callback_url."}
    gateway.answers(f"GET {TASK}/callback", Answer(409, problem))
    ran = run("callback", "task_1")
    assert ran.code == 4
    assert "--callback-url" in ran.stderr


def test_the_secret_is_all_that_is_printed(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/webhook-secrets", Answer(body={"secrets": [SECRET]}))
    assert run("webhook-secret").stdout == f"{SECRET}\n"


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - our own, on loopback
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_what_listens_hears_what_is_signed_and_refuses_the_rest() -> None:
    heard: list[Heard] = []
    body = b'{"type":"task.succeeded","data":{"id":"task_1"}}'
    headers = signed("msg_1", int(time.time()), body, [SECRET])
    with receiving([SECRET], heard.append) as url:
        assert post(url, body, headers) == 204
        assert post(url, body + b" ", headers) == 401
        assert post(url, body, {}) == 401
    assert [h.event and h.event["type"] for h in heard] == ["task.succeeded", None, None]
    assert "No signature matches" in heard[1].problem


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("task.succeeded", {"error": None, "reused_from": None}, []),
        ("task.succeeded", {"reused_from": "task_0"}, ["the result of task_0, reused"]),
        ("task.failed", {"error": {"code": "poison", "message": "a\x1b[2Jb"}}, ["poison: a [2Jb"]),
        ("task.progress", {"progress": 0.25, "stage": "drawing"}, ["25%", "drawing"]),
        ("task.stalled", {"progress": 0.0, "stage": ""}, ["0%"]),
    ],
)
def test_what_listens_says_in_a_line_what_an_event_tells(
    kind: str, data: dict[str, Any], line: list[str]
) -> None:
    assert told({"type": kind, "data": {"id": "task_1", **data}}) == [kind, "task_1", *line]


def test_a_port_that_is_taken_is_said_in_plain_words() -> None:
    with receiving([SECRET], print) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(CommandError, match=str(port)), receiving([SECRET], print, port):
            pass
