"""With CloudFront in front, the rooms serve nobody who comes to the API directly."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from functions.api.service import VERBS
from functions.http.door import CODE, HEADER, VARIABLE, Door
from functions.http.service import Service
from functions.logs import json_logger
from tests.unit.functions.api_world import ADA, ENVIRONMENT, GHOST, ApiWorld
from tests.unit.functions.http_events import Answer, http_event

KEYS = "new-key,old-key"


def _asked(api: ApiWorld, path: str, **headers: str) -> Answer:
    desk = api.api.rooms["api"]._desk
    guarded = Service(
        desk, VERBS, json_logger("api"), ENVIRONMENT.labels, Door.read({VARIABLE: KEYS})
    )
    event = http_event("GET", path, authorizer=ADA.as_context(), headers=headers)
    return Answer.of(guarded.answer(event, None))


@pytest.mark.parametrize("path", ["/v1/stats", "/healthz", "/openapi.json", "/nowhere"])
@pytest.mark.parametrize("key", [None, "", "wrong", "new-key,old-key", "new-ke"])
def test_a_direct_request_is_forbidden_even_with_a_good_api_key(
    api: ApiWorld, logged: StringIO, path: str, key: str | None
) -> None:
    answer = _asked(api, path, **({} if key is None else {HEADER: key}))
    assert (answer.status, answer.json) == (403, {"message": "Forbidden"})
    line = json.loads(logged.getvalue().splitlines()[-1])
    assert (line["message"], line["code"], line["status"]) == ("request", CODE, 403)


@pytest.mark.parametrize("key", ["new-key", "old-key"])
def test_what_the_edge_passes_on_is_served_under_each_key_that_is_taken(
    api: ApiWorld, logged: StringIO, key: str
) -> None:
    assert _asked(api, "/v1/stats", **{HEADER: key}).status == 200
    assert key not in logged.getvalue()


def test_no_shared_cache_may_keep_an_answer_that_took_a_key(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    found = f"/v1/tasks/{task_id}"
    asked = [api.get(f"{found}{part}") for part in ("", "/status", "/status", "/result")]
    asked += [api.get(path) for path in ("/v1/tasks", "/v1/stats", "/v1/task-types", "/v1/workers")]
    asked += [api.get(f"/v1/tasks/{GHOST}"), api.submit(), api.submit({})]
    for answer in asked:
        kept_by = answer.headers["Cache-Control"].split(", ")[0]
        assert kept_by in {"private", "no-store"}


def test_without_an_edge_the_door_is_open_and_an_empty_variable_does_not_open_it() -> None:
    event = http_event("GET", "/healthz")
    assert Door.read({}).admits(event)
    assert not Door.read({VARIABLE: ""}).admits(event | {"headers": {}})
    assert not Door.read({VARIABLE: ""}).admits(event | {"headers": {HEADER: ""}})
