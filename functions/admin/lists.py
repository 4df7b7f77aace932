"""Tasks across tenants: what is unsettled, and what ended badly on a day. For operators."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from aws_lambda_powertools.event_handler import Response

from functions.admin.desk import Desk
from functions.admin.tasks import kept
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked, whole_number
from functions.http.choices import one_of, states
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.gateway.office import overseeing
from taskgate.gateway.office.overseeing import Sought
from taskgate.lifecycle.retry import ErrorCode
from taskgate.pages import Page
from taskgate.task import Task

DEFAULT_PAGE: Final = 20
MAX_PAGE: Final = 100
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def unsettled(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/tasks`: what has a clock, over all tenants, by state."""
    query = asked.query("state", "tenant", "type", "limit", "cursor")
    sought = Sought(
        states=states(query.get("state", "")),
        tenant=query.get("tenant"),
        type=query.get("type"),
    )
    shards = desk.room.environment.clock_shards

    def page(limit: int, start: str | None) -> Page[Task]:
        return overseeing.unsettled(desk.ports, asked.principal, shards, sought, limit, start)

    return _answered(desk, asked, query, f"unsettled {sought}", page)


def problems(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/problems`: what failed or timed out on a day, over all tenants."""
    query = asked.query("day", "tenant", "type", "code", "limit", "cursor")
    sought = Sought(
        tenant=query.get("tenant"),
        type=query.get("type"),
        code=one_of("code", query["code"], ErrorCode) if "code" in query else None,
    )
    day = _day(query.get("day"), desk.ports.now())

    def page(limit: int, start: str | None) -> Page[Task]:
        return overseeing.problems(desk.ports, asked.principal, day, sought, limit, start)

    return _answered(desk, asked, query, f"problems {day} {sought}", page, day=day)


def _answered(
    desk: Desk,
    asked: Asked,
    query: Mapping[str, str],
    of: str,
    page: Callable[[int, str | None], Page[Task]],
    **more: str,
) -> Response[str]:
    asked.principal.require("operator")
    limit = whole_number("limit", query.get("limit", str(DEFAULT_PAGE)), 1, MAX_PAGE)
    start = desk.cursors.open(of, query["cursor"]) if "cursor" in query else None
    got = page(limit, start)
    rows = [{**kept(task), "task": views.summary(task)} for task in got.rows]
    following = desk.cursors.seal(of, got.next) if got.next else None
    return answer({**more, "tasks": rows, "next_cursor": following})


def _day(text: str | None, now: int) -> str:
    """A day of the calendar; today's without one."""
    if text is None:
        return time.strftime("%Y-%m-%d", time.gmtime(now // 1000))
    try:
        if not DAY.fullmatch(text):
            raise ValueError  # noqa: TRY301 - strptime takes more forms than this one
        time.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise InvalidRequest(fields=[FieldProblem("day", "must be a day, YYYY-MM-DD")]) from None
    return text
