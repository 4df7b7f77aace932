"""Bulk acts over HTTP: planned, shown, confirmed with the key that planned, watched and stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate.gateway.announcing import rfc3339
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.principal import USER_SCOPES, Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, EVE, OPERATOR, ApiWorld

ADMIN = Principal(Owner("acme", "bob"), USER_SCOPES | {"admin"}, 50, "k4")
BULK = "/v1/admin/bulk"
CANCEL = {"act": "cancel", "tenant": "acme", "reason": "a runaway script"}


def plan(api: ApiWorld, caller: Principal = OPERATOR, **body: Any) -> Any:
    answer = api.post(BULK, {**CANCEL, **body}, caller)
    assert answer.status == 201, answer.text
    return answer.json


def waiting(api: ApiWorld, count: int, caller: Principal = ADA) -> list[str]:
    ids = [api.submitted(caller=replace(caller, max_pending=1000)) for _ in range(count)]
    api.world.clock.advance(1)
    return ids


def test_a_flood_is_shown_confirmed_watched_and_called_off(api: ApiWorld) -> None:
    ids = waiting(api, 25)
    dry = plan(api)
    assert (dry["bulk"]["count"], dry["bulk"]["state"], len(dry["sample"])) == (25, "planned", 10)
    assert {(row["tenant"], row["user"]) for row in dry["sample"]} == {("acme", "ada")}
    assert {row["task"]["id"] for row in dry["sample"]} < set(ids)
    assert api.work() == 0
    path = f"{BULK}/{dry['bulk']['id']}"
    started = api.post(f"{path}/confirm", {"token": dry["token"]}, OPERATOR)
    assert (started.json["state"], started.json["left"]) == ("running", 25)
    assert api.work() == 25
    shown = api.get(path, OPERATOR).json
    assert (shown["state"], shown["done"], shown["left"], shown["failed"]) == ("done", 25, 0, [])
    assert {api.world.state(i) for i in ids} == {State.CANCELED}
    assert api.get(BULK, OPERATOR).json["bulks"] == [shown]
    assert shown["by"] == "olga/k9"


def test_tasks_that_ended_as_dead_letters_are_redriven(api: ApiWorld) -> None:
    """What the dead-letter function ends as poison is found by its code, and nothing else is."""
    ids = [api.submitted() for _ in range(3)]
    for _ in ids[:2]:
        api.fail(api.claim(), ErrorCode.POISON)
    api.fail(api.claim())
    api.world.clock.advance(1)
    day = rfc3339(api.world.clock())[:10]
    wish = {"act": "redrive", "day": day, "code": "poison", "reason": "image 42 fixes it"}
    dry = api.post(BULK, wish, OPERATOR).json
    assert dry["bulk"]["count"] == 2
    path = f"{BULK}/{dry['bulk']['id']}"
    api.post(f"{path}/confirm", {"token": dry["token"]}, OPERATOR)
    assert api.work() == 2
    assert [api.world.state(i) for i in ids] == [State.QUEUED, State.QUEUED, State.FAILED]


def test_the_token_is_told_once_and_its_secret_never(api: ApiWorld) -> None:
    dry = plan(api)
    path = f"{BULK}/{dry['bulk']['id']}"
    kept = api.world.bulks.get_bulk(dry["bulk"]["id"])
    assert kept is not None
    for told in (api.get(path, OPERATOR).text, api.get(BULK, OPERATOR).text):
        assert dry["token"] not in told
        assert kept.secret not in told


def test_redrive_is_another_word_for_reopen(api: ApiWorld) -> None:
    assert plan(api, act="redrive", day="2026-09-21")["bulk"]["act"] == "reopen"


def test_a_token_confirms_nothing_with_another_key_or_for_another_plan(api: ApiWorld) -> None:
    waiting(api, 1)
    dry, other = plan(api), plan(api)
    path = f"{BULK}/{dry['bulk']['id']}/confirm"
    second_key = replace(OPERATOR, key_id="k10")
    for caller, token in ((second_key, dry["token"]), (OPERATOR, other["token"])):
        refused = api.post(path, {"token": token}, caller)
        assert (refused.status, refused.code) == (409, "bad_confirm_token")
    assert api.work() == 0


def test_one_that_is_stopped_is_not_worked_on(api: ApiWorld) -> None:
    [task_id] = waiting(api, 1)
    dry = plan(api)
    path = f"{BULK}/{dry['bulk']['id']}"
    api.post(f"{path}/confirm", {"token": dry["token"]}, OPERATOR)
    assert api.post(f"{path}/stop", None, OPERATOR).json["state"] == "stopped"
    assert api.work() == 0
    assert api.world.state(task_id) is State.QUEUED


def test_an_administrators_act_ends_at_the_own_tenant_without_a_word_of_it(api: ApiWorld) -> None:
    mine, theirs = waiting(api, 2), waiting(api, 2, EVE)
    dry = plan(api, ADMIN, tenant=None, type="text_to_image")
    assert (dry["bulk"]["filter"]["tenant"], dry["bulk"]["count"]) == ("acme", 2)
    path = f"{BULK}/{dry['bulk']['id']}"
    api.post(f"{path}/confirm", {"token": dry["token"]}, ADMIN)
    assert api.work() == 2
    assert {api.world.state(i) for i in mine} == {State.CANCELED}
    assert {api.world.state(i) for i in theirs} == {State.QUEUED}
    foreign = api.post(BULK, {**CANCEL, "tenant": "evil"}, ADMIN)
    assert (foreign.status, foreign.code) == (403, "missing_scope")


def test_an_administrators_list_is_the_own_tenants_and_its_cursor_opens_no_other(
    api: ApiWorld,
) -> None:
    own = [plan(api, ADMIN)["bulk"]["id"] for _ in range(21)]
    others = plan(api)["bulk"]["id"]
    page = api.get(BULK, ADMIN).json
    rest = api.get(BULK, ADMIN, query={"cursor": page["next_cursor"]}).json
    found = [bulk["id"] for bulk in page["bulks"] + rest["bulks"]]
    assert sorted(found) == sorted(own)
    assert others not in found
    refused = api.get(BULK, OPERATOR, query={"cursor": page["next_cursor"]})
    assert (refused.status, refused.code) == (422, "bad_cursor")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"act": "delete"}, "act"),
    ({"reason": ""}, "reason"),
    ({"reason": "é" * 81}, "reason"),
    ({"states": ["lost"]}, "states.0"),
    ({"code": "because"}, "code"),
    ({"day": "2026-13-01", "act": "reopen"}, "day"),
    ({"day": "yesterday"}, "day"),
    ({"since": "yesterday"}, "since"),
    ({"callback": "lost"}, "callback"),
    ({"tenant": None, "user": "ada"}, "tenant"),
    ({"tenant": None}, "filter"),
    ({"act": "reopen"}, "since"),
    ({"everything": True}, "everything"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_a_plan_that_cannot_be_is_refused_by_the_field(
    api: ApiWorld, wrong: dict[str, Any], field: str
) -> None:
    refused = api.post(BULK, {**CANCEL, **wrong}, OPERATOR)
    assert (refused.status, refused.code) == (422, "invalid_request")
    assert [one["field"] for one in refused.json["errors"]] == [field]


def test_a_word_that_is_nearly_a_state_is_answered_with_the_one_that_was_meant(
    api: ApiWorld,
) -> None:
    refused = api.post(BULK, {**CANCEL, "states": ["Cancelled"]}, OPERATOR)
    (told,) = refused.json["errors"]
    assert told["message"].endswith("; did you mean canceled?")


def test_an_id_of_another_shape_is_no_bulk_act(api: ApiWorld) -> None:
    for bulk_id in ("bulk_none", f"bulk_{'0' * 26}"):
        refused = api.get(f"{BULK}/{bulk_id}", OPERATOR)
        assert (refused.status, refused.code) == (404, "bulk_not_found")
