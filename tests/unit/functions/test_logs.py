"""One JSON line a request, events at the top level, and nothing that a user wrote."""

from __future__ import annotations

import json
from io import StringIO

from functions.logs import json_logger
from taskgate.events import event
from tests.unit.functions.api_world import ApiWorld
from tests.unit.functions.http_events import REQUEST_ID


def _lines(logged: StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


def test_a_request_is_one_line_with_route_status_time_and_caller(
    api: ApiWorld, logged: StringIO
) -> None:
    api.get("/v1/stats")
    (line,) = [line for line in _lines(logged) if line["message"] == "request"]
    assert line["route"] == "GET /v1/stats"
    assert (line["status"], line["tenant"]) == (200, "acme")
    assert line["request_id"] == REQUEST_ID
    assert isinstance(line["ms"], float)


def test_a_refused_request_is_logged_with_its_code(api: ApiWorld, logged: StringIO) -> None:
    api.submit({})
    api.get("/v1/stats")
    refused, served = [line for line in _lines(logged) if line["message"] == "request"]
    assert (refused["status"], refused["code"]) == (422, "invalid_request")
    assert served.get("code") is None


def test_no_prompt_body_or_key_is_ever_logged(api: ApiWorld, logged: StringIO) -> None:
    body = {
        "type": "text_to_image",
        "input": {"prompt": "PRIVATE-PROMPT"},
        "metadata": {"PRIVATE-LABEL": "PRIVATE-TEXT"},
    }
    headers = {"Authorization": "Bearer tg_PRIVATE-KEY", "Idempotency-Key": "PRIVATE-IDEM"}
    api.post("/v1/tasks", body, headers=headers)
    api.post("/v1/tasks", {**body, "type": "PRIVATE-TYPE"}, headers=headers)
    api.post("/v1/tasks", json.dumps(body)[:-1], headers=headers)
    assert "PRIVATE" not in logged.getvalue()


def test_an_event_of_the_gateway_comes_out_as_a_line_of_its_own_fields(
    logged: StringIO,
) -> None:
    json_logger("api")
    event("transition", task="task_1", verb="claim", attempt=1)
    (line,) = _lines(logged)
    assert (line["message"], line["task"], line["attempt"]) == ("transition", "task_1", 1)
    assert line["service"] == "api"


def test_a_second_logger_does_not_double_the_lines(logged: StringIO) -> None:
    json_logger("api")
    json_logger("api")
    event("swept")
    assert len(_lines(logged)) == 1
