"""A kept result over HTTP: what a soft cancel shows of it, and a submit that is given it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.functions.api_world import EVE, PROMPT, ApiWorld


def _salvaged(api: ApiWorld, folder: Path) -> dict[str, Any]:
    task_id = api.submitted()
    held = api.claim()
    api.post(f"/v1/tasks/{task_id}/cancel", {"mode": "soft"})
    api.succeed(held, folder, "image.png", output='{"seed":7}')
    return api.get(f"/v1/tasks/{task_id}").json


def test_a_canceled_task_tells_until_when_its_result_is_kept_and_nothing_of_it(
    api: ApiWorld, tmp_path: Path
) -> None:
    task = _salvaged(api, tmp_path)
    assert (task["state"], task["result"]) == ("canceled", None)
    assert task["cancel"]["kept_until"] == "2026-09-22T14:13:20.000Z"
    result = api.get(f"/v1/tasks/{task['id']}/result")
    assert (result.status, result.code) == (409, "result_not_ready")
    told = api.get(f"/v1/tasks/{task['id']}/explain").json["sentences"]
    assert any("kept for your next identical submit, for about 24 h" in line for line in told)


def test_the_next_same_submit_answers_200_with_the_result(api: ApiWorld, tmp_path: Path) -> None:
    source = _salvaged(api, tmp_path)["id"]
    answer = api.submit({**PROMPT, "metadata": {"try": "2"}}, key="again")
    task = answer.json
    assert (answer.status, task["state"], task["reused_from"]) == (200, "succeeded", source)
    assert [(e["verb"], e["from"], e["to"]) for e in task["history"]] == [
        ("submit", None, "created"),
        ("reuse", "created", "succeeded"),
    ]
    result = api.get(f"/v1/tasks/{task['id']}/result", query={"inline": "true"}).json
    assert result["output"] == {"seed": 7}
    assert f"/{task['id']}/0/image.png" in result["files"][0]["url"]
    assert api.get("/v1/stats").json["active"] == 0
    replay = api.submit({**PROMPT, "metadata": {"try": "2"}}, key="again")
    assert (replay.status, replay.json["id"]) == (200, task["id"])
    assert replay.headers["Idempotent-Replayed"] == "true"


def test_the_one_that_gave_its_result_away_says_to_whom_and_that_nothing_is_kept(
    api: ApiWorld, tmp_path: Path
) -> None:
    source = _salvaged(api, tmp_path)["id"]
    given = api.submit(PROMPT).json["id"]
    told = api.get(f"/v1/tasks/{source}").json["cancel"]
    assert (told["kept_until"], told["given_to"]) == (None, given)
    sentences = api.get(f"/v1/tasks/{source}/explain").json["sentences"]
    assert f"Its result was kept, and given to {given}." in sentences
    assert not any("kept for your next" in line for line in sentences)


def test_the_callback_of_a_given_result_says_whose_it_was_and_that_of_a_run_says_nobodys(
    api: ApiWorld, tmp_path: Path
) -> None:
    asking = {**PROMPT, "callback_url": "https://hooks.example.com/taskgate"}
    source = _salvaged(api, tmp_path)["id"]
    given = api.submit(asking).json
    anew = api.submitted(asking)
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    told = {d["id"]: d for d in (json.loads(body)["data"] for _, _, body in api.letters)}
    assert told[given["id"]]["reused_from"] == given["reused_from"] == source
    assert told[given["id"]]["attempt"] == 0
    assert told[anew]["reused_from"] is None


def test_who_refuses_reuse_gets_a_run_and_the_key_knows_the_difference(
    api: ApiWorld, tmp_path: Path
) -> None:
    _salvaged(api, tmp_path)
    anew = api.submit({**PROMPT, "reuse": False}, key="k")
    assert (anew.status, anew.json["state"], anew.json["reused_from"]) == (202, "queued", None)
    assert api.submit(PROMPT, key="k").code == "idempotency_key_reused"
    bad = api.submit({**PROMPT, "reuse": "no"})
    assert (bad.status, bad.json["errors"][0]["field"]) == (422, "reuse")


def test_another_user_runs_and_learns_no_id(api: ApiWorld, tmp_path: Path) -> None:
    source = _salvaged(api, tmp_path)["id"]
    answer = api.submit(PROMPT, EVE)
    assert answer.json["state"] == "queued"
    assert source not in str(answer.json)
