"""Cold start: everything that is built once, and the function that Lambda calls."""

from __future__ import annotations

import functools
import os
from typing import Any

from functions.admin.desk import Desk
from functions.admin.service import VERBS
from functions.http.door import Door
from functions.http.service import Service
from functions.logs import json_logger
from functions.rooms import open_room
from taskgate.aws import clients
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.master import cursor_key
from taskgate.aws.plans import DynamoPlans
from taskgate.aws.proofs import DynamoProofs, LambdaProver, prover_of
from taskgate.catalog import CATALOG
from taskgate.gateway.views.cursors import Cursors

_ROOM = open_room(os.environ)
_DYNAMODB, _TABLE = clients.dynamodb(), _ROOM.environment.tasks_table
_DESK = Desk(
    room=_ROOM,
    keys=DynamoKeys(_DYNAMODB, table=_TABLE),
    plans=DynamoPlans(_DYNAMODB, table=_TABLE),
    cursors=Cursors(functools.partial(cursor_key, _ROOM.environment.webhook_master)),
    catalog=CATALOG,
    proofs=DynamoProofs(_DYNAMODB, table=_TABLE),
    prover=LambdaProver(clients.functions(), function=prover_of(_ROOM.environment)),
)
_ADMIN = Service(
    _DESK, VERBS, json_logger("admin"), _ROOM.environment.labels, Door.read(os.environ)
)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One HTTP API event (payload 2.0) in, one answer out."""
    return _ADMIN.answer(event, context)
