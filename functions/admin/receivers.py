"""Receivers of callbacks that are out of reach."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.desk import Desk
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.gateway.outbox.receiving import unwell_receivers
from taskgate.principal import Principal
from taskgate.receivers import Unwell, mark_of


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/receivers`: those of the tenant, or to an operator all."""
    cursor, who = asked.query("cursor").get("cursor"), asked.principal
    who.require("admin")
    start = desk.cursors.open(_list_of(who), cursor) if cursor else None
    page = unwell_receivers(desk.ports, who, start=start)
    following = desk.cursors.seal(_list_of(who), page.next) if page.next else None
    return answer({"receivers": [_shown(one) for one in page.rows], "next_cursor": following})


def _list_of(who: Principal) -> str:
    return f"receivers of {'*' if 'operator' in who.scopes else who.owner.tenant}"


def _shown(one: Unwell) -> dict[str, Any]:
    health = one.health
    return {
        "tenant": one.tenant,
        "receiver": one.address,
        "breaker": health.breaker,
        "failures": health.failures,
        "since": when(health.opened_at),
        "next_probe_at": when(health.next_probe_at if health.is_open else None),
        "mark": mark_of(one.receiver),
    }
