"""The OpenAPI 3.1 document, built from the routes, the operations, the schemas and the problems."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from functions import VERSION
from functions.admin import operations as admin
from functions.admin import schemas as admin_schemas
from functions.api import operations as api
from functions.api import schemas
from functions.api.advice import ADVICE
from functions.api.schemas import events
from functions.http import shapes
from functions.http.answers import JSON
from functions.http.operation import ALWAYS, DELEGATED, ON_BEHALF_OF, Answered, Operation, Parameter
from functions.http.problems import (
    AWS_ANSWERS,
    PROBLEM_JSON,
    by_status,
    example_of,
    kinds,
    title_of,
)
from taskgate.errors import Problem
from taskgate.routes import ROUTES, Route

ABOUT: Final = """\
A gateway for long GPU tasks: every accepted task is accounted for, at every moment, and ends.

Errors are RFC 9457 problems with a stable `code`. Another user's task is answered exactly as one
that does not exist. All times are UTC. Paths in answers are below the address of the API.

Some answers come from AWS in front of the API, in its own short form `{"message": …}`: 401 when
the `Authorization` header is missing, 404 for a path or method that is none of these (`HEAD` and a
slash at the end among them), 413 when the body is more than AWS carries (10 MB, of which a function
takes 6), 429 when the whole stage is over its throttle, and 500 when the store of the API keys is out
of reach. Answers are JSON, whatever `Accept` says; bodies are read as JSON, whatever `Content-Type`
says."""

EXAMPLES: Final = Path(__file__).with_name("examples.json")
"""Real answers by operation and status; python -m tests.contract.examples records them anew."""

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {**api.OPERATIONS, **admin.OPERATIONS}
"""Of every room: whoever asks knows one API."""

HEADERS: Final[dict[str, Any]] = {
    "Location": "Where to go on.",
    "Idempotent-Replayed": "`true` when an earlier request with this key made the task.",
    "Preference-Applied": "The wait that was granted.",
    "traceresponse": "The task's trace, and the span of its submit, as a `traceparent`.",
    "ETag": "Of this very answer.",
    "Cache-Control": "How long the answer stays true.",
    "Retry-After": "Seconds until it is worth asking again; absent once the task has ended.",
}


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    recorded = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for route in ROUTES:
        operation = OPERATIONS[route.method, route.path]
        made = _operation(route, operation)
        _add_examples(made["responses"], recorded.get(operation.name, {}))
        paths[route.path][route.method.lower()] = made
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Taskgate",
            "version": VERSION,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "./", "description": "Where this document is served."}],
        "paths": dict(paths),
        "webhooks": events.webhooks(),
        "components": {
            "schemas": {
                **schemas.components(),
                **admin_schemas.SCHEMAS,
            },
            "examples": {kind.code: {"value": example_of(kind)} for kind in kinds()},
            "securitySchemes": {"key": _KEY},
        },
        "x-problems": [
            {
                "code": kind.code,
                "status": kind.status,
                "title": title_of(kind),
                "advice": ADVICE[kind.code],
            }
            for kind in kinds()
        ],
    }


def refusals(route: Route) -> tuple[type[Problem], ...]:
    """Every problem that a route may answer, by status."""
    always = () if route.public else (*ALWAYS, *DELEGATED)
    found = {*OPERATIONS[route.method, route.path].refuses, *always}
    return tuple(by_status(found))


_KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "tg_<key id>_<secret>",
    "description": "An API key, as `Authorization: Bearer tg_…`.",
}


def _operation(route: Route, operation: Operation) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.about or operation.summary + ".",
        "security": [] if route.public else [{"key": []}],
        "parameters": [_parameter(p) for p in _parameters(route, operation)],
        "responses": {
            **{str(status): _answered(a) for status, a in operation.answers.items()},
            **_refused(refusals(route)),
        },
    }
    if operation.scope:
        made["x-scope"] = operation.scope
    if operation.body:
        content = {"application/json": {"schema": shapes.ref(operation.body)}}
        made["requestBody"] = {"required": operation.body_required, "content": content}
    return made


def _parameters(route: Route, operation: Operation) -> tuple[Parameter, ...]:
    if route.public or route.room == "admin":
        return operation.parameters
    return (*operation.parameters, ON_BEHALF_OF)


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.about,
        "schema": parameter.schema,
    }


def _answered(answered: Answered) -> dict[str, Any]:
    made: dict[str, Any] = {"description": answered.about}
    if answered.headers:
        made["headers"] = {
            name: {"description": HEADERS[name], "schema": shapes.TEXT} for name in answered.headers
        }
    if answered.schema:
        made["content"] = {answered.media: {"schema": shapes.ref(answered.schema)}}
    return made


def _add_examples(responses: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    for status, body in recorded.items():
        for content in responses.get(status, {}).get("content", {}).values():
            content["example"] = body


def _refused(refusals: Iterable[type[Problem]]) -> dict[str, Any]:
    by_status: dict[int, list[type[Problem]]] = defaultdict(list)
    for kind in refusals:
        by_status[kind.status].append(kind)
    return {str(status): _problems(found) for status, found in by_status.items()}


def _problems(found: Iterable[type[Problem]]) -> dict[str, Any]:
    found = list(found)
    made: dict[str, Any] = {
        "description": "\n".join(f"- `{kind.code}`: {title_of(kind)}" for kind in found),
        "content": {PROBLEM_JSON: {"schema": shapes.ref("Problem"), "examples": _shown(found)}},
    }
    if {kind.status for kind in found} & AWS_ANSWERS:
        made["content"][JSON] = {
            "schema": shapes.ref("AwsMessage"),
            "example": {"message": HTTPStatus(found[0].status).phrase},
        }
    if any(kind.retry_after for kind in found):
        retry = {"description": "Seconds until a new try may succeed.", "schema": shapes.TEXT}
        made["headers"] = {"Retry-After": retry}
    return made


def _shown(found: Iterable[type[Problem]]) -> dict[str, Any]:
    return {kind.code: {"$ref": f"#/components/examples/{kind.code}"} for kind in found}
