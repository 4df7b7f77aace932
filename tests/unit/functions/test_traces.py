"""A caller's trace is carried from the request to the callback, and every line names it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from functions.logs import json_logger
from gpu_worker.order import order_for
from gpu_worker.protocol import Run
from taskgate.catalog import CATALOG
from taskgate.tracing import incoming, own, span_id
from tests.unit.functions.api_world import PROMPT, ApiWorld

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADERS = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "tracestate": "congo=t61rcWkgMzE"}
AFTER: dict[str, Any] = {
    **PROMPT,
    "callback_url": "https://hooks.example/taskgate",
    "then": [{"type": "embed_document", "input": {"text": "after"}}],
}


def _lines(logged: StringIO, message: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return [line for line in lines if line["message"] == message]


def test_a_trace_goes_from_the_request_to_the_run_the_follow_up_and_the_callback(
    api: ApiWorld, tmp_path: Path
) -> None:
    answer = api.post("/v1/tasks", AFTER, headers=HEADERS)
    task_id = answer.json["id"]
    assert answer.json["trace_id"] == TRACE
    submitted = span_id(task_id, "submit")
    assert answer.headers["traceresponse"] == f"00-{TRACE}-{submitted}-01"

    held = api.claim()
    assert held.delivery.message.trace_headers == {
        "traceparent": f"00-{TRACE}-{submitted}-01",
        "tracestate": "congo=t61rcWkgMzE",
    }
    made = order_for(held, CATALOG, 1, tmp_path, api.worker.files(held))
    assert isinstance(made, tuple)
    order = made[0]
    assert isinstance(order, Run)
    run = span_id(task_id, "run", 1)
    assert order.trace == {**HEADERS, "traceparent": f"00-{TRACE}-{run}-01"}

    api.succeed(held, tmp_path, "image.png")
    api.settle()
    [child] = api.get(f"/v1/tasks/{task_id}").json["children"]
    assert api.get(f"/v1/tasks/{child['id']}").json["trace_id"] == TRACE
    ((_, headers, _),) = api.letters
    called = span_id(task_id, "callback", 0, 1)
    assert headers["traceparent"] == f"00-{TRACE}-{called}-01"
    assert headers["tracestate"] == "congo=t61rcWkgMzE"


def test_a_malformed_traceparent_refuses_nothing_and_begins_a_trace(api: ApiWorld) -> None:
    answer = api.post("/v1/tasks", PROMPT, headers={**HEADERS, "traceparent": "00-zz-1-1"})
    assert answer.status == 202
    assert answer.json["trace_id"] == own(answer.json["id"]).trace_id
    task = api.tasks[answer.json["id"]]
    assert (task.given_trace, task.trace.state) == (None, "")


def test_a_replay_is_of_the_trace_of_the_task_that_it_answers_with(api: ApiWorld) -> None:
    first = api.submit(key="k").json
    again = api.post("/v1/tasks", PROMPT, headers={**HEADERS, "Idempotency-Key": "k"})
    assert (again.json["id"], again.json["trace_id"]) == (first["id"], first["trace_id"])


@pytest.mark.parametrize("headers", [HEADERS, {}])
def test_every_line_about_a_task_names_its_trace(
    api: ApiWorld, logged: StringIO, tmp_path: Path, headers: dict[str, str]
) -> None:
    json_logger("api")  # onto what is listened to
    task = api.post("/v1/tasks", AFTER, headers=headers).json
    api.succeed(api.claim(), tmp_path, "image.png")
    api.settle()
    api.get(f"/v1/tasks/{task['id']}")
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    about = [line for line in lines if line.get("task") == task["id"]]
    assert {"transition", "callback"} <= {line["message"] for line in about}
    requests = [line for line in lines if line["message"] == "request"]
    assert len(requests) == 2
    assert {line["trace_id"] for line in [*about, *requests]} == {task["trace_id"]}


def test_a_request_about_no_task_is_logged_with_the_callers_trace(
    api: ApiWorld, logged: StringIO
) -> None:
    api.get("/v1/stats", headers=HEADERS)
    assert [line["trace_id"] for line in _lines(logged, "request")] == [TRACE]


def test_the_trace_that_is_answered_is_one_that_a_caller_can_read(api: ApiWorld) -> None:
    found = incoming(api.submit().headers["traceresponse"])
    assert found
    assert found.trace.sampled
