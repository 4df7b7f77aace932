"""Another user's task does not exist, whatever is asked of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from functions.api.openapi import OPERATIONS
from taskgate.lifecycle.states import State
from taskgate.principal import Principal
from taskgate.routes import ROUTES
from taskgate.task import Callback, CallbackState, Owner
from taskgate.testing.factories import task_in
from tests.unit.functions.api_world import ADA, EVE, GHOST, OPERATOR, ApiWorld
from tests.unit.functions.http_events import http_event

OF_A_TASK = [route for route in ROUTES if "{task_id}" in route.path]
BEHIND_A_KEY = [route for route in ROUTES if not route.public]
COLLEAGUE = Principal(Owner("acme", "bob"), ADA.scopes, 50, "k3")
BODIES = {
    "/v1/tasks": '{"type":"text_to_image","input":{"prompt":"x"}}',
    "/v1/uploads": '{"content_type":"application/pdf","bytes":9}',
    "/v1/tasks/{task_id}/extend": '{"seconds":60}',
    "/v1/tasks/{task_id}/priority": '{"priority":"low"}',
    "/v1/tasks/{task_id}/reschedule": '{"delay":60}',
}
"""What a route must be sent to get as far as the question whose task it is."""
OPERATORS = {path for (_, path), operation in OPERATIONS.items() if operation.scope == "admin"}


@pytest.mark.parametrize("stranger", [EVE, COLLEAGUE], ids=["tenant", "user"])
@pytest.mark.parametrize("route", OF_A_TASK, ids=str)
def test_a_strangers_task_is_answered_as_an_unknown_one(
    api: ApiWorld, tmp_path: Path, route: object, stranger: Principal
) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    before = api.tasks[task_id]

    def ask(some_id: str) -> object:
        path = route.path.replace("{task_id}", some_id)  # type: ignore[attr-defined]
        body = BODIES.get(route.path)  # type: ignore[attr-defined]
        return api.ask(route.method, path, stranger, body=body)  # type: ignore[attr-defined]

    expected = 403 if route.path in OPERATORS else 404  # type: ignore[attr-defined]
    assert ask(task_id) == ask(GHOST)
    assert ask(task_id).status == expected  # type: ignore[attr-defined]
    assert api.tasks[task_id] is before


def test_an_operator_may_cancel_anybodys_task_and_the_history_says_who(api: ApiWorld) -> None:
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/cancel", {"reason": "model withdrawn"}, OPERATOR)
    assert (answer.status, answer.json["state"]) == (200, "canceled")
    last = api.tasks[task_id].history[-1]
    assert (last.actor, last.reason) == ("operator:olga/k9", "model withdrawn")
    error = api.tasks[task_id].error
    assert error is not None
    assert error.code == "canceled_by_operator"


STATES = {
    "cancel": State.QUEUED,
    "reschedule": State.SCHEDULED,
    "priority": State.QUEUED,
    "extend": State.PROCESSING,
    "recover": State.STALLED,
    "fail": State.STALLED,
    "pause": State.QUEUED,
    "resume": State.PAUSED,
    "retry": State.FAILED,
    "callback/redeliver": State.SUCCEEDED,
}
"""By the act: a state in which it can be done."""
ACTS = [
    route.path.removeprefix("/v1/tasks/{task_id}/")
    for route in OF_A_TASK
    if route.method != "GET" and route.path.startswith("/v1/tasks/")
]


@pytest.mark.parametrize("act", ACTS)
def test_each_act_of_an_operator_on_anybodys_task_stands_in_its_history(
    api: ApiWorld, act: str
) -> None:
    hook = Callback("https://example.com/hook", ("task.succeeded",), CallbackState.DELIVERED)
    task = task_in(STATES[act], at=api.world.clock(), owner=ADA.owner, callback=hook)
    task_id = api.put(replace(task, type="text_to_image", lane="gpu-normal"))
    body = json.loads(BODIES.get(f"/v1/tasks/{{task_id}}/{act}", "{}")) | {"reason": "asked to"}
    answer = api.post(f"/v1/tasks/{task_id}/{act}", body, OPERATOR)
    assert answer.status < 300, answer.text
    last = api.tasks[task_id].history[-1]
    # To redeliver takes no body, and so no reason.
    reason = "" if act == "callback/redeliver" else "asked to"
    assert (last.actor, last.reason) == ("operator:olga/k9", reason)


def test_a_list_and_the_books_show_ones_own_only(api: ApiWorld) -> None:
    api.submitted()
    for stranger in (EVE, COLLEAGUE):
        assert api.get("/v1/tasks", stranger).json == {"tasks": [], "next_cursor": None}
        assert api.get("/v1/stats", stranger).json["submitted"] == 0


def test_a_cursor_of_another_user_is_refused(api: ApiWorld) -> None:
    for _ in range(2):
        api.submitted()
    cursor = api.get("/v1/tasks", query={"limit": "1"}).json["next_cursor"]
    for stranger in (EVE, COLLEAGUE):
        assert api.get("/v1/tasks", stranger, query={"cursor": cursor}).code == "bad_cursor"


CONTEXTS = {
    "no authorizer": None,
    "an empty context": {},
    "a refused key": {"refused": "unauthenticated"},
    "a refusal beside a principal": {**ADA.as_context(), "refused": "unauthenticated"},
    "no user": {**ADA.as_context(), "user": ""},
    "a tenant that would leave its partition": {**ADA.as_context(), "tenant": "acme#ada"},
    "an end that is no time": {**ADA.as_context(), "ends_at": "never"},
    "no limit": {**ADA.as_context(), "max_pending": "many"},
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("route", BEHIND_A_KEY, ids=str)
def test_nothing_behind_a_key_is_served_without_a_principal(
    api: ApiWorld, route: object, context: dict[str, str] | None
) -> None:
    path = route.path.replace("{task_id}", GHOST)  # type: ignore[attr-defined]
    event = http_event(route.method, path, authorizer=context, body="{}")  # type: ignore[attr-defined]
    answer = api.api.answer(event, None)
    assert answer["statusCode"] == 401
    assert '"code":"unauthenticated"' in answer["body"]
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"


def test_an_expired_key_is_told_so(api: ApiWorld) -> None:
    event = http_event("GET", "/v1/tasks", authorizer={"refused": "expired_key"})
    answer = api.api.answer(event, None)
    assert answer["statusCode"] == 401
    assert '"code":"expired_key"' in answer["body"]


def test_a_route_that_changes_something_demands_more_than_reading() -> None:
    for (method, path), operation in OPERATIONS.items():
        if method != "GET":
            assert operation.scope in {"tasks:write", "admin", "operator"}, path
