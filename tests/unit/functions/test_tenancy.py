"""Who may act on whose tasks: administrators of a tenant, operators of all, servers for their users."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.principal import SCOPES, USER_SCOPES, Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, GHOST, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.http_events import http_event

ADMIN = Principal(Owner("acme", "bob"), USER_SCOPES | {"admin"}, 50, "k4")
FOREIGN_ADMIN = replace(ADMIN, owner=Owner("evil", "bob"))
SERVER = Principal(Owner("acme", "backend"), USER_SCOPES | {"delegate"}, 50, "k5")
FOR_ADA = {"Taskgate-On-Behalf-Of": "ada"}


def test_a_tenants_administrator_steers_the_tasks_of_the_tenant_and_the_history_names_the_key(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    assert api.get(f"/v1/admin/tasks/{task_id}", ADMIN).json["user"] == "ada"
    answer = api.post(f"/v1/tasks/{task_id}/pause", {"reason": "too many"}, ADMIN)
    assert answer.json["history"][-1]["actor"] == "admin:bob/k4"


def test_a_key_that_has_ended_is_refused_though_the_http_api_remembers_an_earlier_yes(
    api: ApiWorld,
) -> None:
    comes_at = http_event("GET", "/v1/tasks")["requestContext"]["timeEpoch"] // 1000
    for caller, headers in ((ADA, {}), (SERVER, FOR_ADA)):
        for ends_at, status in ((comes_at, 401), (comes_at + 1, 200), (None, 200)):
            answer = api.get("/v1/tasks", replace(caller, ends_at=ends_at), headers=headers)
            assert answer.status == status
    ended = api.get("/v1/tasks", replace(ADA, ends_at=comes_at))
    assert ended.code == "expired_key"
    assert ended.headers["WWW-Authenticate"] == "Bearer"


def test_another_tenants_administrator_is_answered_as_if_there_were_no_such_task(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    for path in ("/v1/admin/tasks/{}", "/v1/tasks/{}/explain"):
        answers = [api.get(path.format(i), FOREIGN_ADMIN) for i in (task_id, GHOST)]
        assert answers[0] == answers[1]
        assert answers[0].code == "task_not_found"
    assert api.post(f"/v1/tasks/{task_id}/pause", {}, FOREIGN_ADMIN).code == "task_not_found"


def test_a_server_acts_for_a_user_whose_task_it_then_is(api: ApiWorld) -> None:
    made = api.post("/v1/tasks", PROMPT, SERVER, headers=FOR_ADA)
    task = api.tasks[made.json["id"]]
    assert task.owner == ADA.owner
    assert task.history[0].actor == "user:ada via backend/k5"
    assert api.get("/v1/stats").json["submitted"] == 1
    assert api.get("/v1/stats", SERVER).json["submitted"] == 0
    assert api.get(f"/v1/tasks/{task.id}", SERVER).code == "task_not_found"
    assert api.get(f"/v1/tasks/{task.id}", SERVER, headers=FOR_ADA).status == 200
    ended = api.post(f"/v1/tasks/{task.id}/cancel", {}, SERVER, headers=FOR_ADA).json
    assert ended["error"]["code"] == "canceled_by_user"
    assert ended["history"][-1]["actor"] == "user:ada via backend/k5"


def test_each_user_of_a_server_is_held_to_limits_of_their_own(api: ApiWorld) -> None:
    server = replace(SERVER, max_pending=1)
    for user in ("ada", "bob"):
        headers = {"Taskgate-On-Behalf-Of": user}
        assert api.post("/v1/tasks", PROMPT, server, headers=headers).status == 202
        again = api.post("/v1/tasks", PROMPT, server, headers=headers)
        assert again.code == "too_many_pending_tasks"


def test_the_idempotency_keys_of_a_servers_users_never_meet(api: ApiWorld) -> None:
    def made(user: str) -> str:
        headers = {"Taskgate-On-Behalf-Of": user, "Idempotency-Key": "one"}
        return str(api.post("/v1/tasks", PROMPT, SERVER, headers=headers).json["id"])

    assert made("ada") == made("ada")
    assert made("ada") != made("bob")


def test_a_server_never_leaves_its_tenant(api: ApiWorld) -> None:
    task_id = api.submitted()
    foreign = replace(SERVER, owner=Owner("evil", "backend"))
    answer = api.get(f"/v1/tasks/{task_id}", foreign, headers=FOR_ADA)
    assert answer.code == "task_not_found"


def test_acting_for_a_user_takes_no_rights_along_that_the_user_would_not_have(
    api: ApiWorld,
) -> None:
    mighty = replace(SERVER, scopes=SCOPES)
    stranger = api.submitted(caller=replace(ADA, owner=Owner("acme", "eve")))
    assert api.get("/v1/queues", mighty, headers=FOR_ADA).code == "missing_scope"
    assert api.get(f"/v1/tasks/{stranger}/explain", mighty, headers=FOR_ADA).status == 404


@pytest.mark.parametrize("caller", [ADA, ADMIN, replace(OPERATOR, scopes=SCOPES - {"delegate"})])
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/task-types", f"/v1/admin/tasks/{GHOST}"])
def test_without_the_scope_nobody_acts_for_another_or_for_oneself(
    api: ApiWorld, caller: Principal, path: str
) -> None:
    answer = api.get(path, caller, headers=FOR_ADA)
    assert (answer.status, answer.code) == (403, "missing_scope")


@pytest.mark.parametrize("user", ["", "a#b", "a/b", "ada,bob", "x" * 65, "ä", " ada"])
def test_a_name_that_no_user_can_have_is_refused_by_the_headers_name(
    api: ApiWorld, user: str
) -> None:
    answer = api.get("/v1/tasks", SERVER, headers={"Taskgate-On-Behalf-Of": user})
    assert (answer.status, answer.code) == (422, "bad_on_behalf_of")
    assert answer.fields == ["Taskgate-On-Behalf-Of"]
