"""Cold start: everything that is built once, and the function that Lambda calls."""

from __future__ import annotations

import functools
import os
from typing import Any

from functions.api.desk import Desk
from functions.api.service import VERBS
from functions.http.door import Door
from functions.http.service import Service
from functions.logs import json_logger
from functions.rooms import open_room
from taskgate.aws.master import cursor_key, tenant_secrets
from taskgate.gateway.views.cursors import Cursors
from taskgate.spans import open_spans

_ROOM = open_room(os.environ)
_SECRETS = functools.partial(
    tenant_secrets, _ROOM.environment.webhook_master, _ROOM.environment.webhook_versions
)
_CURSORS = Cursors(functools.partial(cursor_key, _ROOM.environment.webhook_master))
_SPANS = open_spans(_ROOM.environment, "api")
_DESK = Desk(room=_ROOM, secrets=_SECRETS, cursors=_CURSORS, spans=_SPANS)
_API = Service(_DESK, VERBS, json_logger("api"), _ROOM.environment.labels, Door.read(os.environ))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One HTTP API event (payload 2.0) in, one answer out."""
    answer = _API.answer(event, context)
    _SPANS.flush()  # once it has answered, the process may be frozen
    return answer
