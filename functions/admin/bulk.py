"""Bulk acts: a dry run, its confirm, how far it is, and the stop. The sweep does the work."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.bulk_bodies import BulkBody, ConfirmBody, StopBody
from functions.admin.desk import Desk
from functions.admin.tasks import kept
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.bulks import BULK_ID, Bulk, Wanted
from taskgate.errors import BulkNotFound
from taskgate.gateway.office import bulk
from taskgate.gateway.office.bulk import DryRun
from taskgate.principal import Principal


def plan(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/bulk`: 201 with what would be done, and the token that confirms it."""
    asked.query()
    body, shards = BulkBody.of(asked.body()), desk.room.environment.clock_shards
    dry = bulk.plan(desk.ports, asked.principal, body.wished, body.wanted, body.reason, shards)
    return answer(_shown_dry(dry), 201)


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/bulk`: those of the tenant, or to an operator all; the latest first."""
    cursor, who = asked.query("cursor").get("cursor"), asked.principal
    who.require("admin")
    start = desk.cursors.open(_list_of(who), cursor) if cursor else None
    page = bulk.recent(desk.ports, who, start)
    following = desk.cursors.seal(_list_of(who), page.next) if page.next else None
    return answer({"bulks": [_shown(one) for one in page.rows], "next_cursor": following})


def get(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/bulk/{bulk_id}`: how far it is."""
    asked.query()
    return answer(_shown(bulk.found(desk.ports, asked.principal, _id(asked))))


def confirm(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/bulk/{bulk_id}/confirm`: it starts within a minute."""
    asked.query()
    token = ConfirmBody.of(asked.body()).token
    return answer(_shown(bulk.confirm(desk.ports, asked.principal, _id(asked), token)))


def stop(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/bulk/{bulk_id}/stop`: no further page of it is done."""
    asked.query()
    StopBody.of(asked.optional_body())
    return answer(_shown(bulk.stop(desk.ports, asked.principal, _id(asked))))


def _id(asked: Asked) -> str:
    bulk_id = asked.arguments["bulk_id"]
    if not BULK_ID.fullmatch(bulk_id):
        asked.principal.require("admin")
        raise BulkNotFound
    return bulk_id


def _list_of(who: Principal) -> str:
    return f"bulk acts of {'*' if 'operator' in who.scopes else who.owner.tenant}"


def _shown_dry(dry: DryRun) -> dict[str, Any]:
    return {
        "bulk": _shown(dry.bulk),
        "sample": [{**kept(task), "task": views.summary(task)} for task in dry.sample],
        "calls": dry.calls,
        "minutes": dry.minutes,
        "token": dry.token,
    }


def _shown(one: Bulk) -> dict[str, Any]:
    return {
        "id": one.id,
        "act": one.act,
        "state": one.state,
        "filter": _filter(one.wanted),
        "reason": one.reason,
        "by": f"{one.operator.user}/{one.key_id}",
        "planned_at": when(one.planned_at),
        "confirm_before": when(one.expires_at),
        "started_at": when(one.started_at),
        "ended_at": when(one.ended_at),
        "count": one.count,
        "counted_all": one.counted_all,
        "done": one.done,
        "found_done": one.found_done,
        "left": one.left,
        "failed": [{"reason": reason, "count": n} for reason, n in one.failed.items()],
    }


def _filter(wanted: Wanted) -> dict[str, Any]:
    return {
        "tenant": wanted.tenant,
        "user": wanted.user,
        "type": wanted.type,
        "states": sorted(wanted.states),
        "since": when(wanted.since),
        "until": when(wanted.until),
        "code": wanted.code,
        "day": wanted.day,
        "callback": wanted.callback,
    }
