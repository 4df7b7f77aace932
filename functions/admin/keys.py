"""API keys: issue, look at, rotate and revoke. A key's text is answered once, at its birth."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.bodies import IssueBody, RevokeBody, RotateBody, seconds
from functions.admin.desk import Desk
from functions.admin.trails import trail
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.apikeys import KEY_ID
from taskgate.errors import UnknownKey
from taskgate.gateway.office import key_keeping
from taskgate.keystore import ApiKey
from taskgate.principal import Principal


def issue(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/keys`: 201 with the key, whose text is shown this once."""
    asked.query()
    who, now = asked.principal, desk.ports.now()
    wish = IssueBody.of(asked.body()).wish(who.owner.tenant)
    key, text = key_keeping.issue(desk.keys, desk.plans, who, wish, now)
    return answer({"key": text, **_shown(key, now)}, 201)


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/keys`: those of the tenant, or to an operator all."""
    cursor, who, now = asked.query("cursor").get("cursor"), asked.principal, desk.ports.now()
    who.require("admin")
    start = desk.cursors.open(_list_of(who), cursor) if cursor else None
    page = key_keeping.listed(desk.keys, who, start)
    following = desk.cursors.seal(_list_of(who), page.next) if page.next else None
    return answer({"keys": [_shown(key, now) for key in page.rows], "next_cursor": following})


def get(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/keys/{key_id}`: never its secret, which nobody has."""
    asked.query()
    key = key_keeping.kept(desk.keys, asked.principal, _id(asked))
    return answer(_shown(key, desk.ports.now()))


def rotate(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/keys/{key_id}/rotate`: 201 with a new key of the same rights."""
    asked.query()
    body, now = RotateBody.of(asked.optional_body()), desk.ports.now()
    key, text = key_keeping.rotate(
        desk.keys,
        asked.principal,
        _id(asked),
        now,
        overlap=body.overlap_seconds,
        expires_at=seconds(body.expires_at),
    )
    return answer({"key": text, **_shown(key, now)}, 201)


def revoke(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/keys/{key_id}/revoke`: it ends now."""
    asked.query()
    RevokeBody.of(asked.optional_body())
    now = desk.ports.now()
    return answer(_shown(key_keeping.revoke(desk.keys, asked.principal, _id(asked), now), now))


def _id(asked: Asked) -> str:
    key_id = asked.arguments["key_id"]
    if not KEY_ID.fullmatch(key_id):
        asked.principal.require("admin")
        raise UnknownKey
    return key_id


def _list_of(who: Principal) -> str:
    """What a cursor is bound to: an operator's list goes on where no other's does."""
    # No tenant's name is "*".
    return f"keys of {'*' if 'operator' in who.scopes else who.owner.tenant}"


def _shown(key: ApiKey, now: int) -> dict[str, Any]:
    return {
        "id": key.id,
        "tenant": key.owner.tenant,
        "user": key.owner.user,
        "scopes": sorted(key.scopes),
        "plan": key.plan,
        "max_pending": key.max_pending,
        "expires_at": when(key.expires_at and key.expires_at * 1000),
        "state": key.state(now // 1000),
        "history": trail(key.trail),
    }
