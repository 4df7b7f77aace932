"""Cold start of the hourly check, and one run of it. It looks and tells; it never repairs."""

from __future__ import annotations

import os
from typing import Any, Final

from functions.logs import json_logger
from functions.rooms import Room, open_room
from taskgate.aws import clients
from taskgate.aws.audit import DynamoAudit
from taskgate.aws.proofs import DynamoProofs
from taskgate.books import Audit
from taskgate.gateway.office import proving
from taskgate.gateway.office.reconciling import reconcile
from taskgate.proofs import ProofStore

SPARED_MS: Final = 60_000
"""Left over at the end of the function's time, to look at the suspicions once more."""
SEGMENTS: Final = 24
PACE: Final = 500.0
"""Read units a second: 2 MB/s, and at most a dollar a day for an hourly walk that fills its time."""
HOUR_MS: Final = 3_600_000

_ROOM = open_room(os.environ)
_AUDIT = DynamoAudit(
    clients.dynamodb(),
    table=_ROOM.environment.tasks_table,
    clock_shards=_ROOM.environment.clock_shards,
    pace=PACE,
)
_PROOFS = DynamoProofs(clients.dynamodb(), table=_ROOM.environment.tasks_table)
json_logger("reconcile")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One tick of the schedule."""
    del event
    return run(_ROOM, _AUDIT, _PROOFS, context.get_remaining_time_in_millis())


def run(room: Room, audit: Audit, proofs: ProofStore, time_left_ms: int) -> dict[str, Any]:
    """Walk as far as the time goes, each hour from another segment, so that none is starved."""
    now = room.ports.now()
    proving.begin(proofs, now)
    first = now // HOUR_MS % SEGMENTS
    segments = [(first + i) % SEGMENTS for i in range(SEGMENTS)]
    report = reconcile(
        room.ports,
        audit,
        apply=False,
        segments=segments,
        of=SEGMENTS,
        stop_at=now + time_left_ms - SPARED_MS,
    )
    proving.keep(proofs, report, now, room.ports.now())
    return {"finished": report.finished, "unaccounted": report.unaccounted}
