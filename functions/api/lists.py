"""The caller's tasks as a list, by filter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer, text_of
from functions.http.asked import Asked, whole_number
from functions.http.choices import states
from functions.http.times import moment
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.gateway.views import listing, reading
from taskgate.gateway.views.listing import Filter

DEFAULT_PAGE: Final = 20
MAX_PAGE_BYTES: Final = 4_500_000
"""Lambda answers at most 6 MB; a page over this ends early and says where to go on."""
METADATA: Final = "metadata."


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks`: the caller's tasks, newest first."""
    query = asked.query("limit", "cursor", "state", "type", "since", "until", prefix=METADATA)
    limit = whole_number("limit", query.get("limit", str(DEFAULT_PAGE)), 1, listing.MAX_PAGE)
    wanted, principal = _filter(query), asked.principal
    cursor, keep, now = query.get("cursor"), desk.retention, desk.ports.now()
    page = listing.listed(desk.ports, desk.cursors, principal, limit, cursor, wanted, keep)
    shown = [views.summary(t, expired=reading.expired(t, now, keep)) for t in page.rows]
    rows = _within_bytes(shown)
    following = page.next
    if len(rows) < len(page.rows):
        following = desk.cursors.seal(listing.list_of(principal.owner, wanted), rows[-1]["id"])
    return answer({"tasks": rows, "next_cursor": following})


def _filter(query: Mapping[str, str]) -> Filter:
    labels = {n.removeprefix(METADATA): t for n, t in query.items() if n.startswith(METADATA)}
    return Filter(
        states=states(query.get("state", "")),
        type=query.get("type"),
        since=_time(query, "since"),
        until=_time(query, "until"),
        metadata=labels,
    )


def _time(query: Mapping[str, str], name: str) -> int | None:
    try:
        return moment(_plus(query[name])) if name in query else None
    except ValueError as error:
        raise InvalidRequest(fields=[FieldProblem(name, str(error))]) from None


def _plus(text: str) -> str:
    """The offset's + back: one that was not escaped arrives as a blank."""
    return re.sub(r" (\d\d:\d\d)$", r"+\1", text)


def _within_bytes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows that fit into one answer; never none."""
    total = 0
    for count, row in enumerate(rows):
        total += len(text_of(row))
        if total > MAX_PAGE_BYTES and count:
            return rows[:count]
    return rows
