"""Holds each answer that any test sees to the OpenAPI document."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.unit.functions.http_events import Answer
from tests.unit.functions.schema_fits import DOCUMENT, assert_fits

NOT_SERVED = {"no_such_route", "method_not_allowed"}
"""What the document cannot list: it lists routes, and these answers are for what is none."""


def assert_documented(method: str, path: str, answer: Answer) -> None:
    """The route may answer with this status, these headers and this body."""
    media = answer.headers.get("Content-Type", "").partition(";")[0]
    if media == "application/problem+json" and answer.json["code"] in NOT_SERVED:
        return
    told = _operation(method, path)["responses"][str(answer.status)]
    assert media in (told.get("content") or {"": {}}), media
    if media == "application/problem+json":
        assert f"- `{answer.json['code']}`: " in told["description"]
    if media.endswith("json"):
        assert_fits(answer.json, told["content"][media]["schema"])


def assert_announced(body: bytes) -> None:
    """A letter to a receiver is one of the events that the document promises."""
    event = json.loads(body)
    news = event["type"] in {"task.progress", "task.stalled"}
    assert_fits(event, _hook("taskNews" if news else "taskEnded"))


def _hook(name: str) -> dict[str, Any]:
    content = DOCUMENT["webhooks"][name]["post"]["requestBody"]["content"]
    return dict(content["application/json"]["schema"])


def _operation(method: str, path: str) -> dict[str, Any]:
    for pattern, methods in DOCUMENT["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", pattern), path) and method.lower() in methods:
            return dict(methods[method.lower()])
    raise AssertionError(f"{method} {path} is not in the document")
