"""Callbacks over HTTP: asked for at submit, seen on the task, sent once more."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.door.redelivering import REDELIVERIES
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.lifecycle.history import MAX_ENTRIES
from taskgate.lifecycle.states import State
from taskgate.testing.factories import task_in
from taskgate.webhooks import verify
from tests.unit.functions.api_world import ADA, EVE, GHOST, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting
from tests.unit.outgoing.hostile_urls import BY_FORM

URL = "https://hooks.example.com/taskgate"
DEFAULT = ["task.succeeded", "task.failed", "task.timed_out"]


def asking(**more: Any) -> dict[str, Any]:
    return {**PROMPT, "callback_url": URL, **more}


def told(api: ApiWorld, folder: Path, **more: Any) -> str:
    """A task that has succeeded and whose callback was attempted once."""
    task_id = api.submitted(asking(**more))
    api.succeed(api.claim(), folder, "image.png")
    api.settle()
    return task_id


def test_a_callback_is_on_record_with_its_default_events(api: ApiWorld) -> None:
    made = api.submit(asking()).json
    assert made["callback"] == {
        "url": URL,
        "events": DEFAULT,
        "state": "waiting",
        "tries": 0,
        "next_try_at": None,
        "latest": [],
    }
    assert api.submit(PROMPT).json["callback"] is None


def no_network(*_: object, **__: object) -> NoReturn:
    raise AssertionError("nothing is looked up or connected to at submit")


@pytest.mark.parametrize(("url", "reason"), BY_FORM, ids=[ascii(u)[:60] for u, _ in BY_FORM])
def test_a_hostile_url_is_422_at_submit_with_its_reason_and_no_lookup(
    url: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(socket, "socket", no_network)
    api = ApiWorld(stage="prod")
    answer = api.submit(asking(callback_url=url))
    assert answer.status in {400, 422}
    assert answer.json["errors"][0]["field"] == "callback_url"
    if answer.code == "invalid_request" and "2048" not in answer.json["errors"][0]["message"]:
        assert reason in answer.json["errors"][0]["message"] or not url
    assert not api.tasks


def test_this_machine_may_be_called_on_the_local_stage_only(api: ApiWorld) -> None:
    here = asking(callback_url="http://127.0.0.1:9000/hook")
    assert api.submit(here).status == 202
    assert ApiWorld(stage="prod").submit(here).status == 422


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"callback_url": ""}, "callback_url"),
        ({"callback_url": "https://a.example.com/" + "x" * 2048}, "callback_url"),
        ({"callback_url": "https://a.example.com/" + "é" * 1020}, "callback_url"),
        ({"callback_url": 7}, "callback_url"),
        ({"callback_events": []}, "callback_events"),
        ({"callback_events": ["task.started"]}, "callback_events.0"),
        ({"callback_events": ["task.failed", ""]}, "callback_events.1"),
        ({"callback_url": None, "callback_events": ["task.failed"]}, "callback_events"),
    ],
)
def test_a_wrong_callback_is_422_naming_its_field(
    api: ApiWorld, fields: dict[str, Any], wrong: str
) -> None:
    answer = api.submit(asking(**fields))
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [e["field"] for e in answer.json["errors"]] == [wrong]


def test_the_same_key_with_another_callback_is_another_request(api: ApiWorld) -> None:
    api.submit(asking(), key="k")
    assert api.submit(asking(callback_events=DEFAULT), key="k").status == 202
    assert api.submit(asking(callback_events=["task.failed"]), key="k").status == 422
    assert api.submit(PROMPT, key="k").code == "idempotency_key_reused"


def test_a_delivered_callback_is_seen_on_the_task_and_verifies(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = told(api, tmp_path)
    seen = api.get(f"/v1/tasks/{task_id}").json["callback"]
    assert (seen["state"], seen["tries"], seen["next_try_at"]) == ("delivered", 1, None)
    assert [(t["status"], t["reason"]) for t in seen["latest"]] == [(204, "ok")]
    ((url, headers, body),) = api.letters
    secrets = api.get("/v1/webhook-secrets").json["secrets"]
    event = verify(body, headers, secrets[1], now=api.world.clock() // 1000)
    assert (url, event["data"]["id"]) == (URL, task_id)


def test_failed_attempts_are_listed_with_their_reason_and_the_next_try(
    api: ApiWorld, tmp_path: Path
) -> None:
    api.receiver_says = [
        Attempt(301, Reason.REDIRECT, 5),
        Attempt(None, Reason.TLS, 9, detail="self-signed certificate " + "x" * 200),
    ]
    task_id = told(api, tmp_path)
    first = api.get(f"/v1/tasks/{task_id}/callback").json
    assert (first["id"], first["state"], first["tries"]) == (task_id, "pending", 1)
    assert first["next_try_at"] > first["latest"][0]["at"]
    api.settle(hours=0.005)
    latest = api.get(f"/v1/tasks/{task_id}/callback").json["latest"]
    assert [(t["status"], t["reason"]) for t in latest] == [(301, "redirect"), (None, "tls")]
    assert latest[1]["detail"].startswith("self-signed certificate")
    assert len(latest[1]["detail"].encode()) <= 80


def test_an_end_that_nobody_asked_to_hear_of_is_not_told(api: ApiWorld) -> None:
    task_id = api.submitted(asking())
    api.post(f"/v1/tasks/{task_id}/cancel", {})
    api.settle()
    assert api.letters == []
    assert api.get(f"/v1/tasks/{task_id}/callback").json["state"] == "not_asked"


def test_a_cancel_is_told_when_it_was_asked_for(api: ApiWorld) -> None:
    task_id = api.submitted(asking(callback_events=["task.canceled"]))
    api.post(f"/v1/tasks/{task_id}/cancel", {})
    api.settle()
    assert [json.loads(body)["type"] for _, _, body in api.letters] == ["task.canceled"]


def test_a_callback_is_sent_once_more_by_hand_as_the_same_event(
    api: ApiWorld, tmp_path: Path
) -> None:
    api.receiver_says = [Attempt(410, Reason.GONE, 2)]
    task_id = told(api, tmp_path)
    path = f"/v1/tasks/{task_id}/callback"
    assert api.get(path).json["state"] == "given_up"
    again = api.post(f"{path}/redeliver")
    assert (again.status, again.json["state"]) == (202, "pending")
    api.settle()
    assert (api.get(path).json["state"], api.get(path).json["tries"]) == ("delivered", 2)
    first, second = api.letters
    assert (first[1]["webhook-id"], first[2]) == (second[1]["webhook-id"], second[2])


def test_a_redelivery_starts_the_schedule_anew_and_does_not_wait_for_the_old_one(
    api: ApiWorld, tmp_path: Path
) -> None:
    api.receiver_says = [Attempt(500, Reason.SERVER_ERROR, 2)] * 4
    task_id = told(api, tmp_path)
    api.settle(hours=0.05)
    assert len(api.letters) == 4
    api.post(f"/v1/tasks/{task_id}/callback/redeliver")
    api.settle()
    assert len(api.letters) == 5


def test_an_attempt_under_way_while_one_asks_again_is_listed_and_the_asked_one_follows(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted(asking())
    api.succeed(api.claim(), tmp_path)
    path = f"/v1/tasks/{task_id}/callback"
    post = api.outbox.courier

    def slow(url: str, headers: Any, body: bytes) -> Attempt:
        api.world.clock.advance(9)
        if len(api.letters) == 0:
            assert api.post(f"{path}/redeliver").status == 202
        return post(url, headers, body)

    api.outbox = replace(api.outbox, courier=slow)
    api.receiver_says = [Attempt(500, Reason.SERVER_ERROR, 9000)]
    api.settle()
    seen = api.get(path).json
    assert [t["status"] for t in seen["latest"]] == [500, 204]
    assert (seen["state"], seen["tries"]) == ("delivered", 2)


def test_a_redelivery_stands_in_the_history_with_who_asked_and_when(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = told(api, tmp_path)
    api.world.clock.advance(90)
    for caller in (ADA, OPERATOR):
        api.post(f"/v1/tasks/{task_id}/callback/redeliver", caller=caller)
    *_, end, mine, operators = api.get(f"/v1/tasks/{task_id}").json["history"]
    assert end["verb"] == "succeed"
    assert (mine["verb"], mine["from"], mine["to"]) == ("redeliver", "succeeded", "succeeded")
    assert [mine["actor"], operators["actor"]] == ["user:ada", "operator:olga/k9"]
    assert mine["at"] == "2026-09-21T14:14:50.000Z"


def test_redelivering_for_ever_never_makes_a_task_too_large(api: ApiWorld, tmp_path: Path) -> None:
    task_id = told(api, tmp_path)
    for _ in range(MAX_ENTRIES + 10):
        assert api.post(f"/v1/tasks/{task_id}/callback/redeliver").status == 202
        api.world.clock.advance(2)
    history = api.get(f"/v1/tasks/{task_id}").json["history"]
    assert len(history) == MAX_ENTRIES
    assert sum(entry["folded"] for entry in history) == 14


def test_a_user_asks_for_so_many_redeliveries_and_then_429_says_when_the_next_is_taken(
    api: ApiWorld, tmp_path: Path
) -> None:
    """Of all their tasks together, whatever the plan: each makes us post to somebody."""
    ids = [told(api, tmp_path), told(api, tmp_path)]
    answers = [api.post(f"/v1/tasks/{ids[n % 2]}/callback/redeliver") for n in range(30)]
    assert [a.status for a in answers] == [202] * REDELIVERIES.burst + [429] * 20
    assert (answers[-1].code, answers[-1].headers["Retry-After"]) == ("rate_limited", "2")
    assert "30 redeliveries a minute, and 10 at once" in answers[-1].json["detail"]
    api.world.clock.advance(2)
    again = [api.post(f"/v1/tasks/{ids[0]}/callback/redeliver").status for _ in range(2)]
    assert again == [202, 429]


def test_the_rate_of_redeliveries_is_each_users_own_and_no_submits(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = told(api, tmp_path)
    path = f"/v1/tasks/{task_id}/callback/redeliver"
    asked = [api.post(path).status for _ in range(REDELIVERIES.burst + 1)]
    assert asked == [202] * REDELIVERIES.burst + [429]
    assert api.post(path, caller=OPERATOR).status == 202
    assert api.submit(asking()).status == 202


def test_what_cannot_be_redelivered_costs_nothing_of_the_rate(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id, silent, running = told(api, tmp_path), api.submitted(), api.submitted(asking())
    for which in (silent, running, GHOST):
        for _ in range(REDELIVERIES.burst):
            assert api.post(f"/v1/tasks/{which}/callback/redeliver").status in {404, 409}
    assert api.post(f"/v1/tasks/{task_id}/callback/redeliver").status == 202


def test_a_rate_that_cannot_be_read_holds_nobody_up(
    api: ApiWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(key: str, interval_ms: int, burst: int) -> int | None:
        raise Unavailable

    task_id = told(api, tmp_path)
    monkeypatch.setattr(api.world.ports.rates, "admit", away)
    assert api.post(f"/v1/tasks/{task_id}/callback/redeliver").status == 202


def test_nothing_is_redelivered_before_the_end_or_without_a_callback(api: ApiWorld) -> None:
    running, silent = api.submitted(asking()), api.submitted()
    early = api.post(f"/v1/tasks/{running}/callback/redeliver")
    assert (early.status, early.code, early.json["state"]) == (409, "verb_not_allowed", "queued")
    for answer in (
        api.post(f"/v1/tasks/{silent}/callback/redeliver"),
        api.get(f"/v1/tasks/{silent}/callback"),
    ):
        assert (answer.status, answer.code) == (409, "no_callback")


@pytest.mark.parametrize("path", ["/callback", "/callback/redeliver"])
def test_another_users_callback_does_not_exist(api: ApiWorld, path: str) -> None:
    task_id = api.submitted(asking())
    method = "POST" if path.endswith("redeliver") else "GET"
    for who, which in ((EVE, task_id), (ADA, GHOST)):
        answer = api.ask(method, f"/v1/tasks/{which}{path}", who)
        assert (answer.status, answer.code) == (404, "task_not_found")


def test_an_operator_may_have_anybodys_callback_sent_once_more(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = told(api, tmp_path)
    assert api.post(f"/v1/tasks/{task_id}/callback/redeliver", caller=OPERATOR).status == 202


def test_a_tenant_reads_its_own_secrets_and_nobody_elses(api: ApiWorld) -> None:
    mine = api.get("/v1/webhook-secrets")
    assert mine.headers["Cache-Control"] == "no-store"
    assert [s[:6] for s in mine.json["secrets"]] == ["whsec_"] * 2
    theirs = api.get("/v1/webhook-secrets", EVE).json["secrets"]
    assert not set(theirs) & set(mine.json["secrets"])


def test_a_callback_costs_a_submit_and_a_status_no_further_call() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    api.submit()  # a process that has just come up counts the lane too
    calls.clear()
    task_id = api.submitted(asking())
    assert calls == ["tasks.create", "lanes.send", "tasks.apply"]
    calls.clear()
    api.get(f"/v1/tasks/{task_id}")
    assert calls == ["tasks.get_with_pulse"]


def test_a_reopened_task_tells_of_its_next_end_from_the_start_of_the_schedule(
    api: ApiWorld, tmp_path: Path
) -> None:
    api.receiver_says = [Attempt(500, Reason.SERVER_ERROR, 1)] * 8
    task_id = api.submitted(asking())
    api.fail(api.claim())
    api.settle(hours=72)
    assert api.tasks[task_id].callback.state == "given_up"  # type: ignore[union-attr]
    api.receiver_says = [Attempt(500, Reason.SERVER_ERROR, 1)]
    api.post(f"/v1/tasks/{task_id}/retry")
    api.succeed(api.claim(), tmp_path)
    api.settle(hours=24)
    assert api.get(f"/v1/tasks/{task_id}/callback").json["state"] == "delivered"
    assert json.loads(api.letters[-1][2])["type"] == "task.succeeded"
    assert api.letters[0][1]["webhook-id"] != api.letters[-1][1]["webhook-id"]


def test_a_task_of_before_callbacks_is_shown_as_one_without(api: ApiWorld) -> None:
    old = api.put(task_in(State.SUCCEEDED, at=api.world.clock(), owner=ADA.owner))
    assert api.get(f"/v1/tasks/{old}").json["callback"] is None
