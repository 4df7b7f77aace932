"""The light status: cheap to ask, never untrue."""

from __future__ import annotations

import json
from pathlib import Path

from functions.api import remembered
from taskgate.principal import Principal
from tests.unit.functions.api_world import ADA, EVE, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting


def _counted() -> tuple[ApiWorld, list[str]]:
    calls: list[str] = []
    return ApiWorld(between=counting(calls)), calls


def test_a_status_takes_one_call() -> None:
    api, calls = _counted()
    task_id = api.submitted()
    calls.clear()
    assert api.get(f"/v1/tasks/{task_id}/status").json["state"] == "queued"
    assert calls == ["tasks.get_with_pulse"]


def test_the_pace_slows_with_the_age_of_the_task(api: ApiWorld) -> None:
    task_id = api.submitted()
    paces = []
    for seconds in (0, 31, 100):
        api.world.clock.advance(seconds)
        paces.append(api.get(f"/v1/tasks/{task_id}/status").headers["Retry-After"])
    assert paces == ["2", "5", "10"]


def test_an_unchanged_status_is_304_and_still_says_when_to_ask(api: ApiWorld) -> None:
    task_id = api.submitted()
    path = f"/v1/tasks/{task_id}/status"
    tag = api.get(path).headers["ETag"]
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = api.get(path, headers={"If-None-Match": header})
        assert (answer.status, answer.text) == (304, "")
        assert answer.headers["ETag"] == tag
        assert answer.headers["Retry-After"] == "2"
    assert api.get(path, headers={"If-None-Match": '"other"'}).status == 200


def test_progress_changes_the_etag(api: ApiWorld) -> None:
    task_id = api.submitted()
    path = f"/v1/tasks/{task_id}/status"
    held = api.claim()
    tag = api.get(path).headers["ETag"]
    api.worker.report(held, 0.5, "drawing")
    answer = api.get(path, headers={"If-None-Match": tag})
    assert (answer.status, answer.json["progress"]) == (200, 0.5)


def test_an_ended_task_is_answered_from_memory(tmp_path: Path) -> None:
    api, calls = _counted()
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path)
    path = f"/v1/tasks/{task_id}/status"
    first = api.get(path)
    calls.clear()
    again = api.get(path)
    assert first == again
    assert not calls
    assert "Retry-After" not in again.headers
    assert again.headers["Cache-Control"] == f"private, max-age={remembered.FINAL_SECONDS}"


def test_a_task_that_may_be_run_again_is_never_answered_from_memory() -> None:
    api, calls = _counted()
    task_id = api.submitted()
    api.fail(api.claim())
    path = f"/v1/tasks/{task_id}/status"
    answer = api.get(path)
    assert (answer.json["state"], answer.headers["Cache-Control"]) == (
        "failed",
        "private, no-cache",
    )
    assert "Retry-After" not in answer.headers
    api.post(f"/v1/tasks/{task_id}/retry")
    calls.clear()
    assert api.get(path).json["state"] == "queued"
    assert calls == ["tasks.get_with_pulse"]


def test_a_live_task_is_never_answered_from_memory() -> None:
    api, calls = _counted()
    task_id = api.submitted()
    calls.clear()
    for _ in range(3):
        api.get(f"/v1/tasks/{task_id}/status")
    assert len(calls) == 3


def test_memory_answers_its_owner_only(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path)
    path = f"/v1/tasks/{task_id}/status"
    api.get(path)
    assert api.get(path, EVE).code == "task_not_found"
    assert api.get(path, Principal(ADA.owner, frozenset(), 1, "k")).code == "missing_scope"


def test_memory_keeps_of_an_ended_task_only_what_a_status_tells(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted({**PROMPT, "metadata": {"run": "x" * 200}})
    api.succeed(api.claim(), tmp_path, "a.png", output=json.dumps({"text": "x" * 10_000}))
    views = remembered.EndedViews()
    views.put(remembered.View(api.tasks[task_id], None), 0)
    kept = views.get(task_id, 1)
    assert kept is not None
    assert len(repr(kept)) < 3_000
    path = f"/v1/tasks/{task_id}/status"
    assert api.get(path).text == api.get(path).text


def test_memory_is_bounded(api: ApiWorld, tmp_path: Path, monkeypatch: object) -> None:
    monkeypatch.setattr(remembered, "MOST", 2)  # type: ignore[attr-defined]
    views = remembered.EndedViews()
    for _ in range(3):
        task_id = api.submitted()
        api.succeed(api.claim(), tmp_path)
        task = api.tasks[task_id]
        views.put(remembered.View(task, None), 0)
    assert len(views._views) == 2
    assert views.get(task_id, 1) is not None


def test_a_new_attempt_starts_again_from_nought(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.worker.report(api.claim(), 0.9, "drawing")
    api.world.clock.advance(46)
    api.claim()
    status = api.get(f"/v1/tasks/{task_id}/status").json
    assert (status["attempt"], status["progress"], status["stage"]) == (2, 0.0, "")
