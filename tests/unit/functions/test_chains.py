"""What follows a task, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgate.plans import FREE, PAID
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting

FINISH: dict[str, Any] = {"type": "finish_image", "input": {"image": {"$result": "image.png"}}}
TEXT = {"type": "embed_document", "input": {"text": "after"}}


def chained(*then: dict[str, Any]) -> dict[str, Any]:
    return {**PROMPT, "then": list(then)}


def nested(depth: int) -> dict[str, Any]:
    return {**TEXT, "then": [nested(depth - 1)]} if depth > 1 else TEXT


def wide(levels: int) -> dict[str, Any]:
    return {**TEXT, "then": [wide(levels - 1)] * 3} if levels > 1 else TEXT


@pytest.mark.parametrize(
    ("then", "field"),
    [
        ([{**PROMPT, "input": {"prompt": ""}}], "then.0.input.prompt"),
        ([TEXT, {**PROMPT, "input": {}}], "then.1.input.prompt"),
        ([{**TEXT, "type": "no_such"}], "then.0.type"),
        ([{**TEXT, "type": ""}], "then.0.type"),
        ([{**TEXT, "priority": "urgent"}], "then.0.priority"),
        ([{**TEXT, "callback_url": "https://10.0.0.1/"}], "then.0.callback_url"),
        ([{**TEXT, "callback_url": ""}], "then.0.callback_url"),
        ([{**TEXT, "then": [{**TEXT, "callback_url": "ftp://x"}]}], "then.0.then.0.callback_url"),
        ([{**TEXT, "then": [{**TEXT, "input": {"text": 7}}]}], "then.0.then.0.input.text"),
        ([{**TEXT, "run_at": "2026-01-01T00:00:00Z"}], "then.0.run_at"),
        ([{"type": "embed_document"}], "then.0.input"),
        ([{**FINISH, "input": {**FINISH["input"], "factor": 99}}], "then.0.input.factor"),
        ([{**FINISH, "input": {"image": {"$result": ""}}}], "then.0.input.image"),
        ([{**FINISH, "input": {"image": {"$result": 7}}}], "then.0.input.image"),
        ([{**FINISH, "input": {"image": {"$result": "a", "x": 1}}}], "then.0.input.image"),
        ([{**FINISH, "input": {"image": {"$output": "a"}, "factor": 99}}], "then.0.input.factor"),
        ([{**PROMPT, "input": {"prompt": {"$result": "a"}}}], "then.0.input.prompt"),
        ([{**PROMPT, "input": {"steps": {"$output": "pages"}}}], "then.0.input.prompt"),
        ([TEXT] * 6, "then"),
        ([nested(6)], "then.0.then.0.then.0.then.0.then.0.then"),
        ([wide(4)] * 2, "then"),
        ("embed_document", "then"),
    ],
)
def test_what_is_wrong_in_a_follow_up_is_named_by_its_place(then: Any, field: str) -> None:
    api = ApiWorld(stage="prod")
    answer = api.submit({**PROMPT, "then": then})
    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == field
    assert not api.tasks


@pytest.mark.parametrize(
    "then",
    [[{**TEXT, "priority": "high"}], [{**TEXT, "then": [TEXT, {**TEXT, "priority": "high"}]}]],
)
def test_a_chain_is_no_way_into_a_lane_that_the_plan_does_not_allow(
    api: ApiWorld, then: Any
) -> None:
    answer = api.submit({**PROMPT, "then": then}, replace(ADA, plan=FREE))
    assert (answer.status, answer.code) == (403, "priority_not_allowed")
    (field,) = answer.fields
    assert field in {"then.0.priority", "then.0.then.1.priority"}
    assert not api.tasks
    assert api.submit({**PROMPT, "then": then}, replace(ADA, plan=PAID)).status == 202


def test_a_chain_of_the_greatest_depth_is_taken(api: ApiWorld) -> None:
    assert api.submit(chained(nested(5))).status == 202


def test_a_task_shows_what_follows_before_and_after_it_is_on_record(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted(chained(FINISH, TEXT))
    before = api.get(f"/v1/tasks/{task_id}").json
    assert [(c["type"], c["state"]) for c in before["children"]] == [(None, None)] * 2
    assert before["chain"] == {"state": "running"}
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    after = api.get(f"/v1/tasks/{task_id}").json
    assert [c["id"] for c in after["children"]] == [c["id"] for c in before["children"]]
    assert [(c["type"], c["state"]) for c in after["children"]] == [
        ("finish_image", "queued"),
        ("embed_document", "queued"),
    ]
    child = api.get(f"/v1/tasks/{after['children'][0]['id']}").json
    assert (child["parent"], child["children"], child["chain"]) == (task_id, [], None)


def test_a_chain_has_succeeded_when_all_of_it_has(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted(chained({**TEXT, "then": [TEXT]}))
    states = []
    for _ in range(3):
        api.succeed(api.claim(), tmp_path, "image.png")
        api.settle()
        states.append(api.get(f"/v1/tasks/{task_id}").json["chain"]["state"])
    assert states == ["running", "running", "succeeded"]


def test_a_chain_that_broke_in_its_middle_has_failed_and_the_rest_is_canceled_with_the_reason(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted(chained({**TEXT, "then": [TEXT]}))
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    api.fail(api.claim())
    api.settle()
    whole = api.get(f"/v1/tasks/{task_id}").json
    child_id = whole["children"][0]["id"]
    child = api.get(f"/v1/tasks/{child_id}").json
    assert (whole["chain"], child["state"]) == ({"state": "failed"}, "failed")
    grandchild = api.get(f"/v1/tasks/{child['children'][0]['id']}").json
    assert grandchild["state"] == "canceled"
    assert grandchild["error"]["message"] == f"{child_id} ended failed"


def test_canceling_the_first_task_cancels_the_whole_chain(api: ApiWorld) -> None:
    task_id = api.submitted(chained({**TEXT, "then": [TEXT]}))
    api.post(f"/v1/tasks/{task_id}/cancel", {})
    api.settle()
    assert api.get(f"/v1/tasks/{task_id}").json["chain"] == {"state": "canceled"}
    assert {task.state for task in api.tasks.values()} == {"canceled"}
    assert len(api.tasks) == 3


def test_a_chain_whose_first_task_is_given_another_life_says_that_the_rest_stays_canceled(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted(chained(TEXT, TEXT))
    api.fail(api.claim())
    api.settle()

    def seen() -> tuple[Any, ...]:
        whole = api.get(f"/v1/tasks/{task_id}").json
        children = {child["state"] for child in whole["children"]}
        return whole["state"], children, whole["chain"]["state"]

    stays = "What was canceled with an earlier end stays so, whatever becomes of it now."
    explained = f"/v1/tasks/{task_id}/explain"
    assert seen() == ("failed", {"canceled"}, "failed")
    assert "What follows it: 2 canceled." in api.get(explained).json["sentences"]
    api.post(f"/v1/tasks/{task_id}/retry")
    assert seen() == ("queued", {"canceled"}, "running")
    assert f"What follows it: 2 canceled. {stays}" in api.get(explained).json["sentences"]
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    assert seen() == ("succeeded", {"canceled"}, "canceled")
    assert f"What follows it: 2 canceled. {stays}" in api.get(explained).json["sentences"]


def test_one_that_is_given_another_life_before_its_rest_is_on_record_runs_whole(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted(chained(TEXT))
    api.fail(api.claim())
    api.post(f"/v1/tasks/{task_id}/retry")
    api.settle()
    assert api.get(f"/v1/tasks/{task_id}").json["children"][0]["state"] is None
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    assert api.get(f"/v1/tasks/{task_id}").json["children"][0]["state"] == "queued"


def test_each_task_of_a_chain_has_a_callback_of_its_own(api: ApiWorld, tmp_path: Path) -> None:
    url = "https://hooks.example.com/{}"
    body = chained({**TEXT, "callback_url": url.format("second")})
    api.submitted({**body, "callback_url": url.format("first")})
    for _ in range(2):
        api.succeed(api.claim(), tmp_path, "image.png")
        api.settle()
    assert [letter[0] for letter in api.letters] == [url.format("first"), url.format("second")]


def test_what_follows_costs_a_look_one_call_a_level_and_a_status_none(tmp_path: Path) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    task_id = api.submitted(chained(TEXT, TEXT))
    calls.clear()
    api.get(f"/v1/tasks/{task_id}")
    assert calls == ["tasks.get_with_pulse"]
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    calls.clear()
    api.get(f"/v1/tasks/{task_id}")
    assert calls == ["tasks.get_with_pulse", "tasks.get_many"]
    calls.clear()
    api.get(f"/v1/tasks/{task_id}/status")
    assert calls == ["tasks.get_with_pulse"]
