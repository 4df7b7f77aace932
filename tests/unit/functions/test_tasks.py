"""Submit, get, list and cancel, as their caller sees them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from functions.api import lists
from taskgate.catalog import CATALOG
from taskgate.errors import Refused, Unavailable
from taskgate.lifecycle.states import State
from taskgate.plans import PAID
from taskgate.principal import Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, GHOST, PROMPT, ApiWorld
from tests.unit.functions.ports_between import breaking, counting


def test_submit_answers_202_with_the_task_and_where_to_go_on(api: ApiWorld) -> None:
    answer = api.submit()
    task = answer.json
    assert answer.status == 202
    assert answer.headers["Location"] == f"/v1/tasks/{task['id']}"
    assert task["state"] == "queued"
    assert task["urls"] == {
        "self": f"/v1/tasks/{task['id']}",
        "status": f"/v1/tasks/{task['id']}/status",
        "result": f"/v1/tasks/{task['id']}/result",
        "explain": f"/v1/tasks/{task['id']}/explain",
        "cancel": f"/v1/tasks/{task['id']}/cancel",
    }


def test_submit_takes_at_most_four_calls() -> None:
    calls: list[str] = []
    api, planned = ApiWorld(between=counting(calls)), replace(ADA, plan=PAID)
    api.submit(caller=planned)  # a process that has just come up counts the lane too
    calls.clear()
    api.submit(caller=planned, key="k")
    assert calls == ["rates.admit", "tasks.create", "lanes.send", "tasks.apply"]


def test_a_replay_takes_two_calls() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    api.submit(key="k")
    calls.clear()
    api.submit(key="k")
    assert calls == ["tasks.create", "tasks.get"]


@pytest.mark.parametrize("priority", ["low", "normal", "high"])
def test_the_priority_chooses_the_lane(api: ApiWorld, priority: str) -> None:
    task_id = api.submitted({**PROMPT, "priority": priority})
    assert api.tasks[task_id].lane == f"gpu-{priority}"
    assert api.get(f"/v1/tasks/{task_id}").json["priority"] == priority


def test_expected_seconds_set_the_run_limit(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "expected_seconds": 20})
    assert api.get(f"/v1/tasks/{task_id}").json["limits"]["run_timeout"] == 60


def test_a_lost_send_still_answers_202_since_the_clock_brings_the_task_back() -> None:
    api = ApiWorld(between=breaking("lanes", "send", Unavailable()))
    answer = api.submit()
    assert (answer.status, answer.json["state"]) == (202, "created")


def test_one_over_the_plan_is_429_with_the_time_to_come_back(api: ApiWorld) -> None:
    poor = Principal(Owner("acme", "ada"), ADA.scopes, 2, "k1")
    for _ in range(2):
        assert api.submit(caller=poor).status == 202
    answer = api.submit(caller=poor)
    assert (answer.status, answer.code) == (429, "too_many_pending_tasks")
    assert int(answer.headers["Retry-After"]) > 0
    assert len(api.tasks) == 2


def test_the_whole_task_tells_its_life(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.world.clock.advance(1.5)
    held = api.claim()
    api.worker.report(held, 0.25, "drawing")
    running = api.get(f"/v1/tasks/{task_id}").json
    assert (running["state"], running["progress"], running["stage"]) == (
        "processing",
        0.25,
        "drawing",
    )
    api.world.clock.advance(2)
    api.succeed(held, tmp_path, "image.png", output='{"seed": 1}')
    task = api.get(f"/v1/tasks/{task_id}").json
    assert [(h["verb"], h["from"], h["to"]) for h in task["history"]] == [
        ("submit", None, "created"),
        ("enqueue", "created", "queued"),
        ("claim", "queued", "processing"),
        ("succeed", "processing", "succeeded"),
    ]
    assert task["created_at"] == "2026-09-21T14:13:20.000Z"
    assert task["started_at"] == "2026-09-21T14:13:21.500Z"
    assert task["ended_at"] == "2026-09-21T14:13:23.500Z"
    assert (task["progress"], task["attempt"]) == (1.0, 1)
    assert task["result"]["output"] == {"seed": 1}
    assert task["result"]["files"][0]["sha256"].isalnum()


def test_a_failed_task_says_why(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.fail(api.claim())
    assert api.get(f"/v1/tasks/{task_id}").json["error"] == {
        "code": "invalid_input",
        "message": "no such thing",
        "class": "permanent",
        "retryable": False,
        "details": "why",
    }


def test_the_list_is_newest_first_and_pages_to_the_end(api: ApiWorld) -> None:
    ids = []
    for _ in range(7):
        ids.append(api.submitted())
        api.world.clock.advance(1)
    found, query = [], {"limit": "3"}
    while True:
        page = api.get("/v1/tasks", query=query).json
        found.append([task["id"] for task in page["tasks"]])
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert [len(page) for page in found] == [3, 3, 1]
    assert [i for page in found for i in page] == ids[::-1]


def test_an_empty_cursor_is_the_first_page(api: ApiWorld) -> None:
    task_id = api.submitted()
    assert api.get("/v1/tasks", query={"cursor": ""}).json["tasks"][0]["id"] == task_id


def test_a_cursor_with_anything_added_is_refused(api: ApiWorld) -> None:
    for _ in range(2):
        api.submitted()
    cursor = api.get("/v1/tasks", query={"limit": "1"}).json["next_cursor"]
    for bad in (cursor + "!", cursor + "=", cursor + "A", cursor[:-1], " " + cursor):
        assert api.get("/v1/tasks", query={"cursor": bad}).code == "bad_cursor"


def test_a_page_is_cut_in_bytes_and_goes_on_where_it_was_cut(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for _ in range(6):
        ids.append(api.submitted({**PROMPT, "metadata": {"a": "x" * 250, "b": "y" * 250}}))
        api.world.clock.advance(1)
    monkeypatch.setattr(lists, "MAX_PAGE_BYTES", 3000)
    first = api.get("/v1/tasks", query={"limit": "6"})
    rows = first.json["tasks"]
    assert 1 <= len(rows) < 6
    assert len(first.text) < 3300
    rest = api.get("/v1/tasks", query={"cursor": first.json["next_cursor"]}).json["tasks"]
    assert [row["id"] for row in rows + rest][:4] == ids[::-1][:4]


def test_the_largest_page_stays_below_what_lambda_may_answer(api: ApiWorld) -> None:
    assert lists.MAX_PAGE_BYTES < 5_000_000
    labels = {f"{n:02d}": "\u0000" * 62 for n in range(16)}
    for _ in range(100):
        api.submitted({**PROMPT, "metadata": labels}, Principal(ADA.owner, ADA.scopes, 200, "k1"))
    answer = api.get("/v1/tasks", query={"limit": "100"})
    assert answer.status == 200
    assert len(json.dumps(answer.text)) < 5_000_000


def test_cancel_of_a_waiting_task_ends_it_at_once(api: ApiWorld) -> None:
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status, answer.json["state"]) == (200, "canceled")
    assert answer.json["history"][-1]["actor"] == "user:ada"


def test_cancel_of_a_running_task_is_asked_for_and_signalled(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    answer = api.post(f"/v1/tasks/{task_id}/cancel", {"mode": "hard", "reason": "wrong prompt"})
    assert (answer.status, answer.json["state"]) == (202, "canceling")
    assert answer.json["cancel"]["mode"] == "hard"
    assert answer.json["history"][-1]["reason"] == "wrong prompt"
    signal = api.worker.beat(held, 0.5, "drawing")
    assert signal is not None
    assert signal.kind == "cancel_hard"


def test_cancel_is_soft_unless_hard_is_asked_for(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.claim()
    assert api.post(f"/v1/tasks/{task_id}/cancel", {}).json["cancel"]["mode"] == "soft"


def test_cancel_again_changes_nothing(api: ApiWorld) -> None:
    task_id = api.submitted()
    first = api.post(f"/v1/tasks/{task_id}/cancel").json
    again = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (again.status, again.json) == (200, first)


def test_cancel_of_an_ended_task_answers_200_with_its_state(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path)
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status, answer.json["state"]) == (200, "succeeded")


def test_cancel_of_an_unknown_task_is_404(api: ApiWorld) -> None:
    answer = api.post(f"/v1/tasks/{GHOST}/cancel")
    assert (answer.status, answer.code) == (404, "task_not_found")


def test_a_cancel_that_always_loses_the_race_says_try_again() -> None:
    lost: list[ApiWorld] = []

    class Moving(Refused):
        @property
        def current(self):
            return next(iter(lost[0].tasks.values()))

        @current.setter
        def current(self, _: object) -> None:
            pass

    api = ApiWorld(between=breaking("tasks", "apply", Moving(None)))
    lost.append(api)
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert api.world.state(task_id) is State.CREATED


def test_stats_are_the_ledger(api: ApiWorld, tmp_path: Path) -> None:
    assert api.get("/v1/stats").json["mean_wait_seconds"] is None
    api.submitted()
    api.world.clock.advance(2)
    held = api.claim()
    api.world.clock.advance(3)
    api.succeed(held, tmp_path)
    api.submitted()
    stats = api.get("/v1/stats").json
    assert (stats["submitted"], stats["active"], stats["succeeded"]) == (2, 1, 1)
    assert (stats["mean_wait_seconds"], stats["mean_run_seconds"]) == (2.0, 3.0)


def test_task_types_come_with_the_schema_of_their_input(api: ApiWorld) -> None:
    types = {kind["name"]: kind for kind in api.get("/v1/task-types").json["task_types"]}
    assert set(types) == {kind.name for kind in CATALOG}
    schema = types["text_to_image"]["input_schema"]
    assert schema["required"] == ["prompt"]
    assert schema["additionalProperties"] is False
    assert types["embed_document"]["limits"]["run_timeout"] == 600
