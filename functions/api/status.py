"""The light status: what pollers ask, so it costs one call, or none once the task has ended."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from functions.api import views
from functions.api.answers import tagged, text_of
from functions.api.asked import Asked
from functions.api.desk import Desk
from functions.api.remembered import keep_seconds
from taskgate.gateway import reading
from taskgate.gateway.reading import View


def status(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/status`, with an ETag, and the pace at which to ask again."""
    asked.query()
    now = desk.ports.now()
    view = _remembered(desk, asked, now) or reading.view(desk.ports, asked.principal, asked.task_id)
    desk.ended.put(view, now)
    text = text_of(views.status(view))
    return tagged(text, asked.header("if-none-match"), _pace(view, now))


def _remembered(desk: Desk, asked: Asked, now: int) -> View | None:
    """The ended task from memory: to its owner only, and only with the scope that reading takes."""
    view = desk.ended.get(asked.task_id, now)
    if view is None:
        return None
    asked.principal.require("tasks:read")
    reading.owned(view.task, asked.principal)
    return view


def _pace(view: View, now: int) -> dict[str, str]:
    if view.task.state.ended:
        return {"Cache-Control": f"private, max-age={keep_seconds(view)}"}
    return {
        "Cache-Control": "private, no-cache",
        "Retry-After": str(reading.poll_after(view.task, now)),
    }
