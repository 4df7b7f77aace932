"""API keys and plans over HTTP: nobody gives away what is not theirs, and each act is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate.apikeys import authenticate, issue
from taskgate.errors import ExpiredKey, Unauthenticated
from taskgate.plans import FREE, PAID
from taskgate.principal import SCOPES, USER_SCOPES, Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, OPERATOR, ApiWorld
from tests.unit.functions.http_events import Answer

ADMIN = Principal(Owner("acme", "bob"), USER_SCOPES | {"admin"}, PAID.max_pending, "k4", PAID)
FOREIGN = replace(ADMIN, owner=Owner("evil", "eve"))
KEYS = "/v1/admin/keys"


def made(api: ApiWorld, caller: Principal = ADMIN, **wish: Any) -> Any:
    answer = api.post(KEYS, {"user": "ada", **wish}, caller)
    assert answer.status == 201, answer.text
    return answer.json


def who(api: ApiWorld, text: str, after: int = 0) -> Principal:
    return authenticate(api.world.keys, text, api.world.clock() // 1000 + after, api.plans)


def act(api: ApiWorld, key_id: str, verb: str, caller: Principal = ADMIN, **body: Any) -> Answer:
    return api.post(f"{KEYS}/{key_id}/{verb}", body, caller)


def test_an_issued_key_works_for_the_user_and_its_record_says_who_issued_it(
    api: ApiWorld,
) -> None:
    key = made(api)
    principal = who(api, key["key"])
    assert (principal.owner, principal.scopes) == (Owner("acme", "ada"), USER_SCOPES)
    assert principal.plan.name == "paid"
    record = api.get(f"{KEYS}/{key['id']}", ADMIN).json
    assert [(m["actor"], m["what"]) for m in record["history"]] == [("bob/k4", "issued")]
    secret = key["key"].split("_", 2)[2]
    assert secret not in api.get(f"{KEYS}/{key['id']}", ADMIN).text
    assert secret not in api.get(KEYS, ADMIN).text


def test_both_keys_work_in_the_overlap_and_the_history_of_each_names_the_other(
    api: ApiWorld,
) -> None:
    old = made(api)
    new = act(api, old["id"], "rotate", overlap_seconds=3600).json
    assert who(api, old["key"], 3599).owner == who(api, new["key"], 3600).owner
    with pytest.raises(ExpiredKey):
        who(api, old["key"], 3600)
    assert new["history"][0]["what"] == f"issued for {old['id']}"
    record = api.get(f"{KEYS}/{old['id']}", ADMIN).json
    assert record["history"][-1]["what"] == f"rotated to {new['id']}"


def test_a_revoked_key_is_refused_and_can_be_revoked_again_but_not_rotated(api: ApiWorld) -> None:
    key = made(api)
    for _ in range(2):
        assert act(api, key["id"], "revoke").json["state"] == "revoked"
    with pytest.raises(Unauthenticated):
        who(api, key["key"])
    refused = act(api, key["id"], "rotate")
    assert (refused.status, refused.code) == (409, "key_ended")
    history = api.get(f"{KEYS}/{key['id']}", ADMIN).json["history"]
    assert [m["what"] for m in history] == ["issued", "revoked"]


def test_a_key_ends_when_it_was_said_to(api: ApiWorld) -> None:
    key = made(api, expires_at="2026-12-31T00:00:00Z")
    assert key["expires_at"] == "2026-12-31T00:00:00.000Z"
    api.world.clock.advance(200 * 86_400)
    with pytest.raises(ExpiredKey):
        who(api, key["key"])
    assert api.get(f"{KEYS}/{key['id']}", ADMIN).json["state"] == "expired"


FOREIGN_WISHES = {
    "another tenant": {"tenant": "evil"},
    "the operators' scope": {"scopes": ["operator"]},
}


@pytest.mark.parametrize("wish", FOREIGN_WISHES.values(), ids=FOREIGN_WISHES)
def test_an_administrator_issues_nothing_for_another_tenant_nor_an_operators_key(
    api: ApiWorld, wish: dict[str, Any]
) -> None:
    answer = api.post(KEYS, {"user": "ada", **wish}, ADMIN)
    assert (answer.status, answer.code) == (403, "missing_scope")
    assert api.get(KEYS, OPERATOR).json["keys"] == []


LOOKING = replace(ADMIN, scopes=frozenset({"admin", "tasks:read"}))


@pytest.mark.parametrize("scope", ["tasks:write", "delegate"])
def test_an_administrator_gives_no_scope_that_is_not_the_own(api: ApiWorld, scope: str) -> None:
    answer = api.post(KEYS, {"user": "ada", "scopes": [scope]}, LOOKING)
    assert (answer.status, answer.code) == (403, "missing_scope")
    assert scope in answer.json["detail"]
    assert api.get(KEYS, LOOKING).json["keys"] == []


def test_to_rotate_a_key_is_to_have_it_so_one_of_more_scopes_is_not_rotated_but_revoked(
    api: ApiWorld,
) -> None:
    key = made(api, OPERATOR, tenant="acme", scopes=["tasks:read", "delegate"])
    refused = act(api, key["id"], "rotate", LOOKING)
    assert (refused.status, refused.code) == (403, "missing_scope")
    assert who(api, key["key"]).scopes == {"tasks:read", "delegate"}
    assert act(api, key["id"], "revoke", LOOKING).json["state"] == "revoked"


def test_an_operators_page_goes_on_for_operators_alone_whatever_a_tenant_is_called(
    api: ApiWorld,
) -> None:
    for number in range(700):
        issue(api.world.keys, Owner(f"tenant{number % 7}", "ada"), USER_SCOPES)
    cursor = api.get(KEYS, OPERATOR).json["next_cursor"]
    for name in ("all", "taskgate", "acme"):
        caller = replace(ADMIN, owner=Owner(name, "bob"))
        assert api.get(KEYS, caller, query={"cursor": cursor}).code == "bad_cursor"


@pytest.mark.parametrize("wish", [{"plan": "operator"}, {"max_pending": 101}])
def test_an_administrator_gives_no_better_plan_and_no_higher_limit_than_the_own(
    api: ApiWorld, wish: dict[str, Any]
) -> None:
    answer = api.post(KEYS, {"user": "ada", **wish}, ADMIN)
    assert (answer.status, answer.fields) == (422, list(wish))


def test_an_administrator_with_a_limit_of_its_own_gives_at_most_that(api: ApiWorld) -> None:
    for bounded in (replace(ADMIN, max_pending=7), replace(ADMIN, max_pending=7, plan=FREE)):
        api.world.clock.advance(1)
        assert who(api, made(api, bounded)["key"]).max_pending <= 7


def test_an_operator_issues_any_key_for_any_tenant(api: ApiWorld) -> None:
    wish = {"tenant": "evil", "scopes": ["operator"], "plan": "operator", "max_pending": 500}
    principal = who(api, made(api, OPERATOR, **wish)["key"])
    assert (principal.owner.tenant, principal.max_pending) == ("evil", 500)
    assert principal.scopes == {"operator", "admin"}


def test_another_tenants_key_is_answered_as_no_key_and_stays_as_it_is(api: ApiWorld) -> None:
    key = made(api)
    ways = [
        lambda key_id: api.get(f"{KEYS}/{key_id}", FOREIGN),
        lambda key_id: act(api, key_id, "rotate", FOREIGN),
        lambda key_id: act(api, key_id, "revoke", FOREIGN),
    ]
    for way in ways:
        for unknown in ("k" * 12, "no-such-shape"):
            assert way(key["id"]) == way(unknown)
            assert way(unknown).code == "key_not_found"
    assert who(api, key["key"]).owner == ADA.owner
    assert api.get(KEYS, FOREIGN).json == {"keys": [], "next_cursor": None}


def test_an_operators_key_is_no_tenants_to_rotate_whatever_tenant_it_stands_in(
    api: ApiWorld,
) -> None:
    key = made(api, OPERATOR, tenant="acme", scopes=["operator"])
    assert act(api, key["id"], "rotate").code == "key_not_found"
    assert api.get(KEYS, ADMIN).json["keys"] == []


def test_the_list_leads_through_all_keys_of_the_tenant_and_only_those(api: ApiWorld) -> None:
    keys = api.world.keys
    for number in range(700):
        issue(keys, Owner(f"tenant{number % 7}", "ada"), USER_SCOPES)
    mine = replace(ADMIN, owner=Owner("tenant3", "bob"))
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        query = {"cursor": cursor} if cursor else {}
        page = api.get(KEYS, mine, query=query).json
        found += page["keys"]
        cursor, pages = page["next_cursor"], pages + 1
    assert pages > 1
    assert len({key["id"] for key in found}) == len(found) == 100
    assert {key["tenant"] for key in found} == {"tenant3"}


def test_a_plan_is_changed_by_what_is_named_and_its_history_says_by_whom(api: ApiWorld) -> None:
    path = "/v1/admin/plans/free"
    body = '{"max_pending": 9, "max_processing": null}'
    plan = api.ask("PATCH", path, OPERATOR, body=body).json
    assert (plan["max_pending"], plan["max_processing"], plan["burst"]) == (9, None, FREE.burst)
    [mark] = plan["history"]
    assert (mark["actor"], mark["what"]) == ("olga/k9", "set max_pending, max_processing")
    listed = {p["name"]: p for p in api.get("/v1/admin/plans", OPERATOR).json["plans"]}
    assert listed["free"] == plan
    assert listed["paid"]["version"] == 0


BAD = {
    '{"max_pending": 0}': "max_pending",
    '{"burst": 10001}': "burst",
    '{"priorities": []}': "priorities",
    '{"priorities": ["urgent"]}': "priorities.0",
    '{"max_procesing": 1}': "max_procesing",
}


@pytest.mark.parametrize("body", BAD)
def test_a_limit_out_of_its_bounds_is_named_and_nothing_is_set(api: ApiWorld, body: str) -> None:
    answer = api.ask("PATCH", "/v1/admin/plans/free", OPERATOR, body=body)
    assert (answer.status, answer.fields) == (422, [BAD[body]])
    assert api.plans.get_plan("free") is None


def test_a_plan_that_was_set_in_between_is_not_written_over(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = api.plans.get_plan

    def meanwhile(name: str) -> Any:
        found = read(name)
        monkeypatch.undo()
        api.ask("PATCH", "/v1/admin/plans/free", OPERATOR, body='{"burst": 7}')
        return found

    monkeypatch.setattr(api.plans, "get_plan", meanwhile)
    answer = api.ask("PATCH", "/v1/admin/plans/free", OPERATOR, body='{"burst": 8}')
    assert (answer.status, answer.code) == (409, "plan_moved")
    assert read("free").burst == 7


def test_plans_are_the_operators_and_no_tenants(api: ApiWorld) -> None:
    assert api.get("/v1/admin/plans", ADMIN).code == "missing_scope"
    assert api.ask("PATCH", "/v1/admin/plans/free", ADMIN, body="{}").code == "missing_scope"
    every = replace(ADMIN, scopes=SCOPES - {"operator"})
    assert api.get("/v1/admin/plans", every).code == "missing_scope"


def test_a_name_that_no_plan_can_have_is_answered_with_404(api: ApiWorld) -> None:
    for name in ("a%23b", "x" * 65):
        answer = api.ask("PATCH", f"/v1/admin/plans/{name}", OPERATOR, body="{}")
        assert (answer.status, answer.code) == (404, "no_plan_name")
