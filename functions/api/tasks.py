"""Submit, list, get, cancel."""

from __future__ import annotations

from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions.api import views
from functions.api.answers import answer, text_of
from functions.api.asked import Asked, whole_number
from functions.api.bodies import CancelBody, SubmitBody
from functions.api.desk import Desk
from taskgate.gateway import reading, steering, submitting
from taskgate.gateway.submitting import SubmitRequest
from taskgate.lifecycle.states import State

DEFAULT_PAGE: Final = 20
MAX_PAGE_BYTES: Final = 4_500_000
"""Lambda answers at most 6 MB; a page over this ends early and says where to go on."""


def submit(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks`: 202 with the task; a replayed key answers with the task that it made."""
    asked.query()
    key = asked.idempotency_key
    body = SubmitBody.of(asked.body())
    request = SubmitRequest(**body.model_dump(), idempotency_key=key)
    submitted = submitting.submit(
        desk.ports, desk.catalog, desk.room.environment, asked.principal, request
    )
    task = submitted.task
    headers = {"Location": views.urls(task.id)["self"]}
    if submitted.replayed:
        headers["Idempotent-Replayed"] = "true"
    return answer(views.record(task), 200 if task.state.ended else 202, headers)


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks`: the caller's tasks, newest first."""
    query = asked.query("limit", "cursor")
    limit = whole_number("limit", query.get("limit", str(DEFAULT_PAGE)), 1, reading.MAX_PAGE)
    principal = asked.principal
    page = reading.listed(desk.ports, principal, limit, query.get("cursor"))
    rows = _within_bytes([views.summary(task) for task in page.rows])
    following = page.next
    if len(rows) < len(page.rows):
        following = reading.seal_cursor(principal.owner, rows[-1]["id"])
    return answer({"tasks": rows, "next_cursor": following})


def get(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}`: the whole task, with its history."""
    asked.query()
    return answer(views.whole(reading.view(desk.ports, asked.principal, asked.task_id)))


def cancel(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/cancel`: 202 while a worker must still stop, 200 once it ended."""
    asked.query()
    body = CancelBody.of(asked.body() if asked.raw_body().strip() else {})
    task = steering.cancel(
        desk.ports, asked.principal, asked.task_id, body.cancel_mode, body.reason
    )
    status = 202 if task.state is State.CANCELING else 200
    return answer(views.record(task), status)


def _within_bytes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows that fit into one answer; never none."""
    total = 0
    for count, row in enumerate(rows):
        total += len(text_of(row))
        if total > MAX_PAGE_BYTES and count:
            return rows[:count]
    return rows
