"""Answers that are held back until there is something to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgate.errors import Unavailable
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld
from tests.unit.functions.http_events import Answer
from tests.unit.functions.ports_between import counting


def _wait(api: ApiWorld, task_id: str, seconds: int = 20, **headers: str) -> Answer:
    path = f"/v1/tasks/{task_id}/status"
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return api.get(path, query={"wait": str(seconds)}, headers=named)


def _preferred(api: ApiWorld, prefer: str) -> Answer:
    return api.post("/v1/tasks", PROMPT, headers={"Prefer": prefer})


def test_a_status_is_held_back_until_the_task_has_ended(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    held = api.claim()
    api.meanwhile[7] = lambda: api.succeed(held, tmp_path)
    answer = _wait(api, task_id)
    assert (answer.json["state"], api.slept) == ("succeeded", 7)


def test_a_wait_ends_after_its_seconds_and_reads_at_most_once_a_second() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    task_id = api.submitted()
    calls.clear()
    answer = _wait(api, task_id, 20)
    assert (answer.status, answer.json["state"]) == (200, "queued")
    assert calls == ["tasks.get_with_pulse"] * 21
    assert answer.headers["Retry-After"] == "2"


def test_without_a_wait_nothing_sleeps(api: ApiWorld) -> None:
    _wait(api, api.submitted(), 0)
    assert api.slept == 0


def test_with_the_last_etag_a_wait_ends_as_soon_as_the_status_differs(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    tag = api.get(f"/v1/tasks/{task_id}/status").headers["ETag"]
    api.meanwhile[3] = lambda: api.worker.report(held, 0.5, "drawing")
    answer = _wait(api, task_id, If_None_Match=tag)
    assert (answer.status, answer.json["progress"], api.slept) == (200, 0.5, 3)


def test_with_the_last_etag_a_wait_in_which_nothing_moved_is_304(api: ApiWorld) -> None:
    task_id = api.submitted()
    tag = api.get(f"/v1/tasks/{task_id}/status").headers["ETag"]
    answer = _wait(api, task_id, 5, If_None_Match=tag)
    assert (answer.status, answer.text, api.slept) == (304, "", 5)


def test_a_store_that_is_away_in_mid_wait_ends_the_wait_with_what_was_seen(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = api.submitted()

    def away(*_: object) -> None:
        raise Unavailable

    api.meanwhile[2] = lambda: monkeypatch.setattr(api.world.tasks, "get_with_pulse", away)
    answer = _wait(api, task_id)
    assert (answer.status, answer.json["state"], api.slept) == (200, "queued", 2)


def test_an_ended_task_is_answered_at_once(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path)
    assert _wait(api, task_id).json["state"] == "succeeded"
    assert api.slept == 0


def test_a_submit_that_prefers_to_wait_answers_200_with_the_ended_task(
    api: ApiWorld, tmp_path: Path
) -> None:
    api.meanwhile[2] = lambda: api.succeed(api.claim(), tmp_path, output='{"n":1}')
    answer = _preferred(api, "wait=10")
    assert (answer.status, answer.json["state"]) == (200, "succeeded")
    assert answer.json["result"]["output"] == {"n": 1}
    assert answer.headers["Preference-Applied"] == "wait=10"


def test_a_submit_whose_wait_is_over_is_accepted_all_the_same(api: ApiWorld) -> None:
    answer = _preferred(api, "respond-async, wait=3")
    assert (answer.status, answer.json["state"], api.slept) == (202, "queued", 3)


@pytest.mark.parametrize("seconds", ["600", "86400", "999999999"])
def test_a_longer_wait_than_an_answer_can_take_is_cut_and_said_so(
    api: ApiWorld, seconds: str
) -> None:
    assert _preferred(api, f"wait={seconds}").headers["Preference-Applied"] == "wait=20"
    assert api.slept == 20


@pytest.mark.parametrize("prefer", ["", "wait", "wait=x", "wait=-1", "return=minimal", "await=9"])
def test_a_preference_that_is_none_is_passed_over(api: ApiWorld, prefer: str) -> None:
    answer = _preferred(api, prefer)
    assert (answer.status, api.slept) == (202, 0)
    assert "Preference-Applied" not in answer.headers


def test_a_store_that_goes_away_after_the_submit_does_not_unsay_it(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(api.world.tasks, "get", away)
    assert _preferred(api, "wait=10").status == 202


def test_nobody_waits_for_a_task_that_is_scheduled(api: ApiWorld) -> None:
    answer = api.post("/v1/tasks", {**PROMPT, "delay": 60}, ADA, headers={"Prefer": "wait=10"})
    assert (answer.status, api.slept) == (202, 0)
