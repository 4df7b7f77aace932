"""The admin room, deployed: the emulator holds its function to its role, so a missing right fails here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import jwt
import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.issuer import TrustedIssuer
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.settings import stage
from taskgate.task import Owner
from tests.e2e.waiting import until
from tests.unit.functions.signed_tokens import issuing

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("admin")]

TASK = {"type": "embed_document", "input": {"text": "one"}}
USER = frozenset({"tasks:read", "tasks:write"})
Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def asking(stack: LocalStack) -> Iterator[Callable[..., Ask]]:
    """By owner and scopes: how one with a key of these asks."""
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)

    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=60) as http:

        def as_(owner: str, scopes: frozenset[str] = USER) -> Ask:
            tenant, _, user = owner.partition("/")
            key = issue(keys, Owner(tenant, user), scopes, max_pending=50)
            headers = {"Authorization": f"Bearer {key}"}
            return lambda method, path, **more: http.request(
                method, path, headers={**headers, **more.pop("headers", {})}, **more
            )

        yield as_


def test_an_operator_finds_another_tenants_task_and_its_owner_has_no_such_route(
    asking: Callable[..., Ask],
) -> None:
    owner, operator = asking("acme/ada"), asking("ops/olga", SCOPES)
    task_id = owner("POST", "/v1/tasks", json=TASK).json()["id"]
    path = f"/v1/admin/tasks/{task_id}"
    found = operator("GET", path).json()
    assert (found["tenant"], found["user"], found["task"]["id"]) == ("acme", "ada", task_id)
    assert owner("GET", path).status_code == 403


def test_a_key_issued_over_http_works_is_rotated_and_ends_when_it_is_revoked(
    asking: Callable[..., Ask], stack: LocalStack
) -> None:
    operator = asking("ops/olga", SCOPES)
    made = operator("POST", "/v1/admin/keys", json={"tenant": "acme", "user": "ann"}).json()
    path = f"/v1/admin/keys/{made['id']}"
    new = operator("POST", f"{path}/rotate", json={"overlap_seconds": 60}).json()
    for key in (made["key"], new["key"]):
        assert stats(stack, key).status_code == 200
    assert operator("POST", f"/v1/admin/keys/{new['id']}/revoke").json()["state"] == "revoked"
    history = [mark["what"] for mark in operator("GET", path).json()["history"]]
    assert history == ["issued", f"rotated to {new['id']}"]
    listed = operator("GET", "/v1/admin/keys").json()["keys"]
    assert {made["id"], new["id"]} <= {key["id"] for key in listed}
    fresh = operator("POST", "/v1/admin/keys", json={"tenant": "acme", "user": "gone"}).json()
    operator("POST", f"/v1/admin/keys/{fresh['id']}/revoke")
    assert stats(stack, fresh["key"]).json()["code"] == "unauthenticated"


def stats(stack: LocalStack, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=60) as http:
        return http.get("/v1/stats", headers=headers)


def test_operators_walk_what_is_unsettled_and_see_books_plans_and_receivers(
    asking: Callable[..., Ask],
) -> None:
    owner, operator = asking("books/ada"), asking("ops/olga", SCOPES)
    ids = {owner("POST", "/v1/tasks", json=TASK).json()["id"] for _ in range(5)}
    found, cursor = set(), None
    while not found or cursor:
        params = {"limit": "2", "tenant": "books", **({"cursor": cursor} if cursor else {})}
        page = operator("GET", "/v1/admin/tasks", params=params).json()
        found |= {row["task"]["id"] for row in page["tasks"]}
        cursor = page["next_cursor"]
    assert found == ids
    ledger = operator("GET", "/v1/admin/ledgers/books/ada").json()
    assert (ledger["balanced"], set(ledger["active_tasks"])) == (True, ids)
    problems = operator("GET", "/v1/admin/problems", params={"tenant": "books"}).json()
    assert (problems["tasks"], problems["next_cursor"]) == ([], None)
    # Other tests of this stack leave ill receivers behind.
    receivers = operator("GET", "/v1/admin/receivers").json()["receivers"]
    assert not [one for one in receivers if one["tenant"] == "books"]
    plan = operator("PATCH", "/v1/admin/plans/e2e", json={"burst": 3}).json()
    assert plan in operator("GET", "/v1/admin/plans").json()["plans"]


def test_an_operator_has_the_check_run_and_reads_what_it_found(
    asking: Callable[..., Ask],
) -> None:
    """The one function that the room may wake; what it found may tell of other tests' repairs."""
    asking("proved/ada")("POST", "/v1/tasks", json={**TASK, "delay": 3600})
    operator, path = asking("ops/olga", SCOPES), "/v1/admin/reconcile"
    before = (operator("GET", path).json()["last"] or {}).get("began_at", "")
    asked = operator("POST", path)
    assert (asked.status_code, asked.json()["state"] in {"asked", "running"}) == (202, True)

    def ran() -> bool:
        last = operator("GET", path).json()["last"] or {}
        return bool(last.get("began_at", "") > before)

    until(ran)
    assert operator("GET", path).json()["last"]["tasks"] > 0
    assert asking("proved/bob", USER | {"admin"})("POST", path).status_code == 403


def test_an_administrator_calls_off_a_flood_of_the_own_tenant_and_operators_see_it(
    asking: Callable[..., Ask], stack: LocalStack
) -> None:
    owner, admin = asking("flood/ada"), asking("flood/bob", USER | {"admin"})
    low = {**TASK, "priority": "low"}
    ids = [owner("POST", "/v1/tasks", json=low).json()["id"] for _ in range(23)]
    wish = {"act": "cancel", "user": "ada", "reason": "a runaway script"}
    dry = admin("POST", "/v1/admin/bulk", json=wish).json()
    assert (dry["bulk"]["count"], dry["bulk"]["filter"]["tenant"]) == (23, "flood")
    live = {"act": "cancel", "type": "embed_document", "reason": "looked for"}
    assert admin("POST", "/v1/admin/bulk", json=live).json()["bulk"]["count"] == 23
    bad = {"act": "redrive", "day": "2026-01-01", "reason": "looked for"}
    assert admin("POST", "/v1/admin/bulk", json=bad).json()["bulk"]["count"] == 0
    path = f"/v1/admin/bulk/{dry['bulk']['id']}"
    assert admin("POST", f"{path}/confirm", json={"token": dry["token"]}).status_code == 200

    def carried_out() -> Any:
        """By this sweep, or by that of the clock, which may have begun it."""
        stack.sweep()
        shown = admin("GET", path).json()
        return shown if shown["state"] == "done" else None

    shown = until(carried_out)
    assert (shown["done"], shown["failed"]) == (23, [])
    assert {owner("GET", f"/v1/tasks/{i}/status").json()["state"] for i in ids} == {"canceled"}
    assert admin("POST", f"{path}/stop").json() == shown
    assert asking("evil/eve", USER | {"admin"})("GET", path).status_code == 404
    operator = asking("ops/olga", SCOPES)
    assert shown in operator("GET", "/v1/admin/bulk").json()["bulks"]
    assert len(admin("GET", "/v1/admin/bulk").json()["bulks"]) == 3


def test_an_operator_pauses_a_lane_over_http_and_whoever_waits_is_told(
    asking: Callable[..., Ask],
) -> None:
    owner, operator = asking("paused/ada"), asking("ops/olga", SCOPES)
    lane = {"kind": "lane", "name": "cpu-low"}
    pause = {**lane, "reason": "the driver"}
    assert operator("POST", "/v1/admin/switches/pause", json=pause).json()["paused"]
    try:
        shown = operator("GET", "/v1/admin/switches").json()["switches"]
        assert [one["reason"] for one in shown if one["name"] == "cpu-low"] == ["the driver"]
        assert owner("POST", "/v1/admin/switches/resume", json=lane).status_code == 403
    finally:
        assert not operator("POST", "/v1/admin/switches/resume", json=lane).json()["paused"]


def test_a_server_acts_for_its_user_and_an_administrator_ends_at_the_tenant(
    asking: Callable[..., Ask],
) -> None:
    server = asking("acme/backend", USER | {"delegate"})
    for_ada = {"Taskgate-On-Behalf-Of": "ada"}
    task_id = server("POST", "/v1/tasks", json=TASK, headers=for_ada).json()["id"]
    assert server("GET", f"/v1/tasks/{task_id}").status_code == 404
    admin, foreign = asking("acme/bob", USER | {"admin"}), asking("evil/eve", USER | {"admin"})
    assert foreign("POST", f"/v1/tasks/{task_id}/cancel").status_code == 404
    canceled = admin("POST", f"/v1/tasks/{task_id}/cancel").json()
    actors = [entry["actor"].partition("/")[0] for entry in canceled["history"]]
    assert (actors[0], actors[-1]) == ("user:ada via backend", "admin:bob")


def test_a_stage_that_trusts_an_issuer_takes_its_tokens_beside_keys(
    asking: Callable[..., Ask], stack: LocalStack
) -> None:
    with issuing() as issuer, _trusting(stack, issuer.trusted):
        good = stats(stack, issuer.token("ec"))
        assert good.status_code == 200, good.text
        forged = jwt.encode(issuer.claims(), "", "none", headers={"kid": "ec"})
        assert stats(stack, forged).json()["code"] == "unauthenticated"
        assert stats(stack, issuer.token(exp=1)).json()["code"] == "expired_key"
        assert asking("acme/ada")("GET", "/v1/stats").status_code == 200


@contextmanager
def _trusting(stack: LocalStack, issuer: TrustedIssuer) -> Iterator[None]:
    """The deployed authorizer with the setting that a stage would have, for the block."""
    client, name = stack.client("lambda"), f"{stage('local').prefix}-authorizer"
    before = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]

    def set_to(variables: dict[str, str]) -> None:
        client.update_function_configuration(
            FunctionName=name, Environment={"Variables": variables}
        )

    set_to({**before, "TASKGATE_TRUSTED_ISSUER": str(issuer)})
    try:
        yield
    finally:
        set_to(before)
