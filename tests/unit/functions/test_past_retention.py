"""A task whose time is over, on every route: its end is told, 410, and nothing else of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.functions.api_world import EVE, OPERATOR, PROMPT, ApiWorld

DAY = 24 * 3600
TEXT = {"type": "embed_document", "input": {"text": "after"}}
SECRET = "lighthouse-7"
ROUTES = [
    ("GET", ""),
    ("GET", "/status"),
    ("GET", "/result"),
    ("GET", "/explain"),
    ("GET", "/callback"),
    ("POST", "/callback/redeliver"),
    ("POST", "/cancel"),
    ("POST", "/retry"),
]


def old(api: ApiWorld, folder: Path, *, ends_well: bool = True) -> str:
    """A task that ended 91 days ago, with all that can be told of one."""
    task_id = api.submitted(
        {
            **PROMPT,
            "metadata": {"label": SECRET},
            "callback_url": f"https://hooks.example.com/{SECRET}",
            "then": [TEXT],
        }
    )
    held = api.claim()
    if ends_well:
        api.succeed(held, folder, "image.png", output=f'{{"word":"{SECRET}"}}')
    else:
        api.fail(held)
    api.settle()
    if ends_well:
        api.succeed(api.claim(), folder)  # what follows it
    api.world.clock.advance(91 * DAY)
    return task_id


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("ends_well", [True, False])
def test_every_route_answers_410_with_the_end_and_nothing_else_of_it(
    api: ApiWorld, tmp_path: Path, method: str, path: str, ends_well: bool
) -> None:
    task_id = old(api, tmp_path, ends_well=ends_well)
    answer = api.ask(method, f"/v1/tasks/{task_id}{path}")
    assert (answer.status, answer.code) == (410, "task_expired")
    assert answer.json["state"] == ("succeeded" if ends_well else "failed")
    assert "at 2026-09-21T14:13:20" in answer.json["detail"]
    assert SECRET not in answer.text
    assert len(api.letters) == 1


def test_a_list_still_names_it_by_its_end_alone_and_not_by_its_labels(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id, fresh = old(api, tmp_path), api.submitted()
    assert len(api.tasks) == 3
    rows = {row["id"]: row for row in api.get("/v1/tasks").json["tasks"]}
    gone = rows[task_id]
    assert (gone["state"], gone["expired"], gone["result"]) == ("succeeded", True, None)
    assert (gone["metadata"], rows[fresh]["expired"]) == ({}, False)
    assert SECRET not in json.dumps(rows)
    found = api.get("/v1/tasks", query={"metadata.label": SECRET}).json["tasks"]
    assert found == []


def test_a_child_still_names_its_parent_and_a_parent_its_child(
    api: ApiWorld, tmp_path: Path
) -> None:
    """The links stay true: whoever follows one learns how that task ended."""
    parent = old(api, tmp_path)
    child = next(task for task in api.tasks.values() if task.parent == parent)
    rows = {row["id"]: row for row in api.get("/v1/tasks").json["tasks"]}
    assert (rows[child.id]["parent"], rows[child.id]["expired"]) == (parent, True)
    whole = api.get(f"/v1/admin/tasks/{parent}", OPERATOR).json["task"]
    assert whole["children"] == [
        {"id": child.id, "type": "embed_document", "state": "succeeded"},
    ]


def test_a_stranger_learns_nothing_of_its_end(api: ApiWorld, tmp_path: Path) -> None:
    task_id = old(api, tmp_path)
    for method, path in ROUTES:
        assert api.ask(method, f"/v1/tasks/{task_id}{path}", EVE).code == "task_not_found"


def test_who_looks_after_tasks_may_still_have_it_explained_and_sent_once_more(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = old(api, tmp_path)
    assert api.get(f"/v1/tasks/{task_id}/explain", OPERATOR).status == 200
    assert api.post(f"/v1/tasks/{task_id}/callback/redeliver", caller=OPERATOR).status == 202
    api.settle()
    first, second = api.letters
    assert first[2] == second[2]


def test_a_result_past_its_time_is_410_while_its_record_is_told_of_and_its_callback_can_be_sent(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = old(api, tmp_path)
    api.world.clock.advance(-60 * DAY)
    assert api.get(f"/v1/tasks/{task_id}/result").code == "result_expired"
    assert api.get(f"/v1/tasks/{task_id}").json["state"] == "succeeded"
    assert api.post(f"/v1/tasks/{task_id}/callback/redeliver").status == 202


def test_an_input_that_is_gone_is_said_and_no_task_is_given_a_life_without_one(
    api: ApiWorld,
) -> None:
    """Inputs go sooner than records: 30 days after the time that their task had to live."""
    task_id, later = api.submitted(), api.submitted({**PROMPT, "delay": 3600})
    api.fail(api.claim())
    api.world.tasks._inputs.clear()
    refused = api.post(f"/v1/tasks/{task_id}/retry")
    assert (refused.status, refused.code) == (409, "verb_not_allowed")
    assert "kept no more: submit anew" in refused.json["detail"]
    assert api.tasks[task_id].state == "failed"
    moved = api.post(f"/v1/tasks/{later}/reschedule", {"delay": 89 * DAY})
    assert (moved.status, moved.code) == (409, "verb_not_allowed")
    sooner = api.post(f"/v1/tasks/{later}/reschedule", {"delay": 60})
    assert sooner.status == 200
