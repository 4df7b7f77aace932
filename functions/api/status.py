"""The light status: what pollers ask, so it costs one call, or none once the task has ended."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.api.remembered import keep_seconds
from functions.http import views
from functions.http.answers import matches, tag_of, tagged, text_of
from functions.http.asked import Asked, whole_number
from taskgate.gateway.views import reading
from taskgate.gateway.views.reading import View


def status(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/status`, with an ETag, and the pace at which to ask again.

    `?wait=N` holds the answer back until the task has ended, or differs from the ETag sent along.
    """
    wait = whole_number("wait", asked.query("wait").get("wait", "0"), 0, reading.MAX_WAIT)
    view = _remembered(desk, asked, desk.ports.now()) or _awaited(desk, asked, wait)
    now = desk.ports.now()
    desk.ended.put(view, now)
    text = text_of(views.status(view))
    return tagged(text, asked.header("if-none-match"), _pace(view, now))


def _awaited(desk: Desk, asked: Asked, seconds: int) -> View:
    known, who, task_id = asked.header("if-none-match"), asked.principal, asked.task_id

    def look() -> View:
        return reading.view(desk.ports, who, task_id, desk.retention)

    def done(view: View) -> bool:
        news = known is not None and not matches(known, tag_of(text_of(views.status(view))))
        return news or view.task.state.ended

    return reading.awaited(desk.ports, look(), look, done, seconds, desk.sleep)


def _remembered(desk: Desk, asked: Asked, now: int) -> View | None:
    """The ended task from memory: to its owner only, and only with the scope that reading takes."""
    view = desk.ended.get(asked.task_id, now)
    if view is None:
        return None
    asked.principal.require("tasks:read")
    reading.owned(view.task, asked.principal)
    return view


def _pace(view: View, now: int) -> dict[str, str]:
    if seconds := keep_seconds(view):
        return {"Cache-Control": f"private, max-age={seconds}"}
    if view.task.state.ended:
        return {"Cache-Control": "private, no-cache"}
    return {
        "Cache-Control": "private, no-cache",
        "Retry-After": str(reading.poll_after(view.task, now)),
    }
