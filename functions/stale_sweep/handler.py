"""Cold start of the stale sweep, and one run of it."""

from __future__ import annotations

import os
from typing import Any, Final

from functions.logs import json_logger
from functions.rooms import Room, open_room
from taskgate.gateway.office.bulk_finding import due
from taskgate.gateway.sweep.sweeping import sweep
from taskgate.gateway.views.backlog import pools, tell_backlog

SPARED_MS: Final = 5000
"""Left over at the end of the function's time, to finish the write in hand and to report."""

_ROOM = open_room(os.environ)
json_logger("stale-sweep")  # the sweep tells what it did as events of the gateway


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One tick of the schedule."""
    del event
    return run(_ROOM, context.get_remaining_time_in_millis())


def run(room: Room, time_left_ms: int) -> dict[str, Any]:
    """Count what there is to do, then sweep every clock shard within the time left, and report."""
    tell_backlog(room.ports, pools(room.environment.lanes))
    stop_at = room.ports.now() + time_left_ms - SPARED_MS
    report = sweep(room.ports, range(room.environment.clock_shards), stop_at)
    acted = _bulk_acts(room, stop_at)
    return {"finished": report.finished, **report.counts, **({"bulk": acted} if acted else {})}


def _bulk_acts(room: Room, stop_at: int) -> int:
    """Bulk acts have the time that the sweep leaves, and never the other way round."""
    if not due(room.ports):
        return 0
    # The catalog is large to load, and in most minutes there is no bulk act.
    from taskgate.catalog import CATALOG  # noqa: PLC0415
    from taskgate.gateway.office.bulk_working import work  # noqa: PLC0415

    return work(room.ports, CATALOG, room.environment.clock_shards, stop_at)
