"""Tasks across tenants, for those who look after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taskgate.principal import SCOPES
from taskgate.receivers import Health, failed
from tests.unit.functions.api_world import ADA, EVE, GHOST, OPERATOR, PROMPT, ApiWorld


def test_an_operator_finds_anybodys_task_whole_with_its_tenant_and_user(api: ApiWorld) -> None:
    task_id = api.submitted()
    found = api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).json
    assert (found["tenant"], found["user"], found["owes"]) == ("acme", "ada", [])
    assert found["task"] == api.get(f"/v1/tasks/{task_id}").json
    assert found["due_at"] is not None


def test_a_settled_task_has_no_clock_and_is_found_when_its_owner_is_told_no_more(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    api.settle()
    api.world.clock.advance(91 * 24 * 3600)
    assert api.get(f"/v1/tasks/{task_id}").code == "task_expired"
    found = api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).json
    assert (found["due_at"], found["owes"], found["task"]["state"]) == (None, [], "succeeded")


def test_an_owner_without_the_scope_is_refused_even_for_an_own_task(api: ApiWorld) -> None:
    assert api.get(f"/v1/admin/tasks/{api.submitted()}", ADA).code == "missing_scope"


def test_an_unknown_id_is_no_task(api: ApiWorld) -> None:
    for task_id in (GHOST, "nonsense"):
        assert api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).code == "task_not_found"


TELLING = {
    **PROMPT,
    "callback_url": "https://example.com/hook",
    "callback_events": ["task.canceled"],
}


def walked(api: ApiWorld, path: str, **query: str) -> list[str]:
    """The ids of all pages, in their order."""
    ids: list[str] = []
    cursor = None
    while True:
        page = api.get(path, OPERATOR, query={**query, **({"cursor": cursor} if cursor else {})})
        ids += [row["task"]["id"] for row in page.json["tasks"]]
        cursor = page.json["next_cursor"]
        if cursor is None:
            return ids


def test_unsettled_tasks_of_all_tenants_are_listed_each_once_and_settled_ones_never(
    api: ApiWorld, tmp_path: Path
) -> None:
    done = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    api.settle()
    waiting = {api.submitted(caller=caller) for caller in (ADA, EVE) for _ in range(40)}
    owing = api.submitted(TELLING)
    api.post(f"/v1/tasks/{owing}/cancel")
    for limit in ("1", "7", "100"):
        ids = walked(api, "/v1/admin/tasks", limit=limit)
        assert len(ids) == len(set(ids))
        assert set(ids) == {*waiting, owing}
        assert ids[-1] == owing
    assert done not in ids


def test_unsettled_tasks_are_found_by_state_tenant_and_type(api: ApiWorld) -> None:
    later = api.submitted({**PROMPT, "delay": 60})
    text = api.submitted({"type": "embed_document", "input": {"text": "hello"}}, EVE)
    owing = api.submitted(TELLING)
    api.post(f"/v1/tasks/{owing}/cancel")
    path = "/v1/admin/tasks"
    assert walked(api, path, state="scheduled") == [later]
    assert walked(api, path, state="canceled") == [owing]
    assert walked(api, path, state="cancelled") == [owing]
    assert set(walked(api, path, state="queued,canceled")) == {text, owing}
    assert walked(api, path, tenant="evil") == [text]
    assert walked(api, path, type="embed_document") == [text]
    [row] = api.get(path, OPERATOR, query={"state": "canceled"}).json["tasks"]
    assert (row["tenant"], row["owes"]) == ("acme", ["callback"])


def test_problems_of_a_day_are_listed_with_their_code_and_leave_when_they_live_again(
    api: ApiWorld,
) -> None:
    broken = [api.submitted(caller=caller) for caller in (ADA, EVE) for _ in range(5)]
    for _ in broken:
        api.fail(api.claim())
    path, day = "/v1/admin/problems", "2026-09-21"
    assert api.get(path, OPERATOR).json["day"] == day
    for limit in ("1", "100"):
        assert sorted(walked(api, path, limit=limit)) == sorted(broken)
    assert sorted(walked(api, path, tenant="evil", day=day)) == sorted(broken[5:])
    assert walked(api, path, day="2026-09-20") == []
    assert len(walked(api, path, code="invalid_input")) == 10
    assert walked(api, path, code="poison") == []
    api.post(f"/v1/tasks/{broken[0]}/retry", {}, OPERATOR)
    assert broken[0] not in walked(api, path)


WRONG = {
    "state": "urgent",
    "limit": "0",
    "cursor": "x" * 40,
    "owner": "ada",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_parameter_of_a_list_is_named(api: ApiWorld, name: str) -> None:
    answer = api.get("/v1/admin/tasks", OPERATOR, query={name: WRONG[name]})
    assert (answer.status, answer.fields) == (422, [name])


@pytest.mark.parametrize("day", ["2026-02-30", "today", "2026-9-1", ""])
def test_a_day_that_is_none_is_named(api: ApiWorld, day: str) -> None:
    answer = api.get("/v1/admin/problems", OPERATOR, query={"day": day})
    assert (answer.status, answer.fields) == (422, ["day"])


def test_a_cursor_is_good_for_its_own_list_and_filter_only(api: ApiWorld) -> None:
    for _ in range(3):
        api.submitted()
    query = {"limit": "1"}
    cursor = api.get("/v1/admin/tasks", OPERATOR, query=query).json["next_cursor"]
    for path, more in (("/v1/admin/tasks", {"type": "x"}), ("/v1/admin/problems", {})):
        answer = api.get(path, OPERATOR, query={**query, **more, "cursor": cursor})
        assert answer.code == "bad_cursor"


def test_an_empty_deployment_is_walked_within_one_answer(api: ApiWorld) -> None:
    assert api.get("/v1/admin/tasks", OPERATOR).json == {"tasks": [], "next_cursor": None}


def test_the_lists_over_all_tenants_are_the_operators(api: ApiWorld) -> None:
    admin = replace(OPERATOR, scopes=SCOPES - {"operator"})
    for path in ("/v1/admin/tasks", "/v1/admin/problems"):
        assert api.get(path, admin).code == "missing_scope"


def test_a_users_books_name_the_unfinished_tasks_and_say_whether_they_balance(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    told = api.get("/v1/admin/ledgers/acme/ada", OPERATOR).json
    assert (told["balanced"], told["active_tasks"]) == (True, [task_id])
    assert told["books"] == api.get("/v1/stats").json


def test_another_tenants_books_are_answered_as_those_of_nobody(api: ApiWorld) -> None:
    api.submitted()
    admin = replace(OPERATOR, owner=EVE.owner, scopes=SCOPES - {"operator"})
    answers = [api.get(f"/v1/admin/ledgers/{who}", admin) for who in ("acme/ada", "acme/nobody")]
    assert answers[0] == answers[1]
    assert answers[0].code == "ledger_not_found"
    assert api.get("/v1/admin/ledgers/a%23b/ada", OPERATOR).code == "ledger_not_found"


def test_ill_receivers_are_told_to_those_who_look_after_their_tenant(api: ApiWorld) -> None:
    for tenant in ("acme", "evil"):
        receiver, health = f"{tenant}|hooks.example.com:443", Health()
        for _ in range(6):
            now = api.world.clock()
            health = (
                api.world.receivers.swap(
                    receiver, health, failed(health, now, 0.5, probe=health.is_open)
                )
                or Health()
            )
    path, admin = "/v1/admin/receivers", replace(ADA, scopes=ADA.scopes | {"admin"})
    everybody = api.get(path, OPERATOR).json["receivers"]
    assert sorted(row["tenant"] for row in everybody) == ["acme", "evil"]
    [row] = api.get(path, admin).json["receivers"]
    assert (row["receiver"], row["breaker"]) == ("hooks.example.com:443", "open")
    assert row["since"] < row["next_probe_at"]
    assert api.get(path, ADA).code == "missing_scope"


@pytest.mark.parametrize("code", ["", "urgent", "poison,deadline"])
def test_a_code_that_is_none_is_named(api: ApiWorld, code: str) -> None:
    answer = api.get("/v1/admin/problems", OPERATOR, query={"code": code})
    assert (answer.status, answer.fields) == (422, ["code"])
