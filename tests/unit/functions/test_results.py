"""Results: links and a manifest, and the truth about how long a link is good."""

from __future__ import annotations

from pathlib import Path

import pytest

from functions.http.views import when
from tests.unit.functions.api_world import ApiWorld


@pytest.fixture
def done(api: ApiWorld, tmp_path: Path) -> str:
    """The result path of a task with two files."""
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png", "b.png", output='{"seed": 7}')
    return f"/v1/tasks/{task_id}/result"


def test_the_result_redirects_to_its_first_file(api: ApiWorld, done: str) -> None:
    answer = api.get(done)
    assert (answer.status, answer.text) == (302, "")
    assert "/a.png?seconds=900" in answer.headers["Location"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_file_is_chosen_by_its_name(api: ApiWorld, done: str) -> None:
    assert "/b.png?" in api.get(done, query={"file": "b.png"}).headers["Location"]


def test_an_unknown_file_is_404_and_says_which_there_are(api: ApiWorld, done: str) -> None:
    answer = api.get(done, query={"file": "c.png"})
    assert (answer.status, answer.code) == (404, "result_file_not_found")
    assert "a.png, b.png" in answer.json["errors"][0]["message"]


def test_inline_brings_manifest_links_and_output(api: ApiWorld, done: str) -> None:
    body = api.get(done, query={"inline": "true"}).json
    assert [file["name"] for file in body["files"]] == ["a.png", "b.png"]
    assert all(file["url"].startswith("memory://") for file in body["files"])
    assert body["output"] == {"seed": 7}
    assert body["expires_at"] == when(api.world.clock() + 900_000)


def test_a_result_without_files_answers_with_its_output(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, output='{"score": 1}')
    answer = api.get(f"/v1/tasks/{task_id}/result")
    assert (answer.status, answer.json["output"]) == (200, {"score": 1})
    assert answer.json["expires_at"] is None


def test_where_the_bytes_lie_is_told_by_the_link_only(api: ApiWorld, done: str) -> None:
    body = api.get(done, query={"inline": "true"}).json
    assert {"name", "size", "sha256", "content_type", "url"} == set(body["files"][0])


@pytest.mark.parametrize("end", ["queued", "processing", "failed", "canceled"])
def test_no_result_is_409_with_the_state(api: ApiWorld, end: str) -> None:
    task_id = api.submitted()
    if end == "canceled":
        api.post(f"/v1/tasks/{task_id}/cancel")
    if end in {"processing", "failed"}:
        held = api.claim()
    if end == "failed":
        api.fail(held)
    for query in ({}, {"inline": "true"}):
        answer = api.get(f"/v1/tasks/{task_id}/result", query=query)
        assert (answer.status, answer.code) == (409, "result_not_ready")
        assert answer.json["state"] == end
