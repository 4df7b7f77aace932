"""Cold start: everything that is built once, and the function that Lambda calls."""

from __future__ import annotations

import os
from typing import Any

from functions.admin.desk import Desk
from functions.admin.service import VERBS
from functions.http.service import Service
from functions.logs import json_logger
from functions.rooms import open_room

_ROOM = open_room(os.environ)
_ADMIN = Service(Desk(room=_ROOM), VERBS, json_logger("admin"), _ROOM.environment.stage)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One HTTP API event (payload 2.0) in, one answer out."""
    return _ADMIN.answer(event, context)
