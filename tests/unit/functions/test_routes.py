"""The API serves exactly the routes that the stack makes, and describes exactly those."""

from __future__ import annotations

import re
from typing import Any

import pytest

from functions import VERSION
from functions.admin import service as admin
from functions.api import service as api_room
from functions.api.openapi import OPERATIONS
from taskgate.routes import ROUTES
from tests.unit.functions.api_world import ApiWorld
from tests.unit.functions.ports_between import counting
from tests.unit.functions.schema_fits import DOCUMENT, assert_fits

SERVED = {(route.method, route.path) for route in ROUTES}


def test_every_route_has_a_verb_and_every_verb_a_route() -> None:
    assert admin.VERBS.keys() | api_room.VERBS.keys() == SERVED
    assert not admin.VERBS.keys() & api_room.VERBS.keys()
    assert set(OPERATIONS) == SERVED


def test_each_rooms_resolver_holds_exactly_its_routes(api: ApiWorld) -> None:
    for name, room in api.api.rooms.items():
        resolver = room._resolver
        held = {(r.method, r.path) for r in resolver._static_routes + resolver._dynamic_routes}
        own = {(r.method, r.path) for r in ROUTES if r.room == name}
        assert held == {(m, re.sub(r"{(\w+)}", r"<\1>", path)) for m, path in own}


def test_the_document_is_served_to_anybody_and_names_every_route(api: ApiWorld) -> None:
    document = api.get("/openapi.json", None).json
    named = {(m.upper(), path) for path, methods in document["paths"].items() for m in methods}
    assert document["openapi"] == "3.1.0"
    assert named == SERVED


def test_public_routes_demand_no_key_and_all_others_do() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        assert operation["security"] == ([] if route.public else [{"key": []}])
        assert route.public or "401" in operation["responses"]


def test_the_short_answers_of_aws_are_described_where_a_caller_may_meet_them() -> None:
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            for status in {"401", "500"} & operation["responses"].keys():
                short = operation["responses"][status]["content"]["application/json"]["schema"]
                assert_fits({"message": "Unauthorized"}, short)


def test_every_reference_of_the_document_leads_somewhere() -> None:
    for kind, name in _references(DOCUMENT):
        assert name in DOCUMENT["components"][kind], name


def test_every_schema_of_the_document_is_used() -> None:
    used = {name for kind, name in _references(DOCUMENT) if kind == "schemas"}
    assert set(DOCUMENT["components"]["schemas"]) == used


def test_operation_ids_are_unique_and_path_parameters_declared() -> None:
    names = []
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            names.append(operation["operationId"])
            declared = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))
            assert operation["responses"]
    assert len(names) == len(set(names))


def test_the_docs_page_loads_nothing_from_anybody_else(api: ApiWorld) -> None:
    answer = api.get("/docs", None)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?https?:""", answer.text)
    assert "innerHTML" not in answer.text
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_health_touches_nothing_and_says_version_and_stage() -> None:
    calls: list[str] = []
    answer = ApiWorld(between=counting(calls)).get("/healthz", None)
    assert answer.json == {"status": "ok", "version": VERSION, "stage": "local"}
    assert not calls


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_what_is_public_may_be_cached(api: ApiWorld, path: str) -> None:
    assert api.get(path, None).headers["Cache-Control"] == "public, max-age=300"


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/stats", "/v1/task-types"])
def test_what_is_a_callers_own_is_kept_by_no_cache(api: ApiWorld, path: str) -> None:
    assert api.get(path).headers["Cache-Control"] == "no-store"


def _references(node: Any) -> list[tuple[str, str]]:
    """The kind and the name of all that is referred to; what examples hold is data."""
    if isinstance(node, dict):
        own = [tuple(str(node["$ref"]).split("/")[2:])] if "$ref" in node else []
        inner = [value for name, value in node.items() if name != "example"]
        return own + [found for value in inner for found in _references(value)]
    if isinstance(node, list):
        return [found for value in node for found in _references(value)]
    return []
