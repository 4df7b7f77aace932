"""Submit, get, cancel."""

from __future__ import annotations

import time
from dataclasses import replace

from aws_lambda_powertools.event_handler import Response

from functions.api.bodies import CancelBody, SubmitBody
from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest, Submitted
from taskgate.gateway.outbox.relating import relations
from taskgate.gateway.steer import steering
from taskgate.gateway.views import reading
from taskgate.lifecycle.states import State
from taskgate.task import Task


def submit(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks`: 202 with the task; a replayed key answers with the task that it made."""
    began = time.time_ns()
    asked.query()
    request = _request(desk, asked)
    submitted = submitting.submit(
        desk.ports,
        desk.catalog,
        desk.room.environment,
        asked.principal,
        request,
        desk.depths,
        desk.switches,
    )
    if not submitted.replayed:
        desk.spans.submitted(submitted.task, asked.caller_trace, began)
    headers, task = _headers(submitted), submitted.task
    # A scheduled task ends in no wait that fits into one answer.
    if (wait := asked.preferred_wait) and task.state is not State.SCHEDULED:
        task = _awaited(desk, task, wait)
        headers["Preference-Applied"] = f"wait={wait}"
    return answer(views.record(task), 200 if task.state.ended else 202, headers)


def _request(desk: Desk, asked: Asked) -> SubmitRequest:
    key, body = asked.idempotency_key, SubmitBody.of(asked.body())
    request = body.request(key, local=desk.room.environment.stage == "local")
    caller = asked.caller_trace
    return replace(request, trace=caller.trace) if caller else request


def _headers(submitted: Submitted) -> dict[str, str]:
    headers = {
        "Location": views.urls(submitted.task.id)["self"],
        "traceresponse": submitted.task.trace_headers("submit")["traceparent"],
    }
    return headers | ({"Idempotent-Replayed": "true"} if submitted.replayed else {})


def get(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}`: the whole task, with its history."""
    asked.query()
    keep = desk.retention
    view = reading.view(desk.ports, asked.principal, asked.task_id, keep)
    return answer(views.whole(view, relations(desk.ports, view.task)))


def cancel(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/cancel`: 202 while a worker must still stop, 200 once it ended."""
    asked.query()
    body = CancelBody.of(asked.optional_body())
    task = steering.cancel(
        desk.ports, asked.principal, asked.task_id, body.cancel_mode, body.reason, desk.retention
    )
    status = 202 if task.state is State.CANCELING else 200
    return answer(views.canceled(task), status)


def _awaited(desk: Desk, task: Task, seconds: int) -> Task:
    return reading.awaited(
        desk.ports,
        task,
        lambda: desk.ports.tasks.get(task.id) or task,
        lambda now: now.state.ended,
        seconds,
        desk.sleep,
    )
