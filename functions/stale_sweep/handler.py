"""Cold start of the stale sweep, and one run of it."""

from __future__ import annotations

import os
from typing import Any, Final

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from functions.logs import json_logger
from functions.rooms import Room, open_room
from taskgate.gateway.sweeping import Report, sweep

SPARED_MS: Final = 5000
"""Left over at the end of the function's time, to finish the write in hand and to report."""

_ROOM = open_room(os.environ)
json_logger("stale-sweep")  # the sweep tells what it did as events of the gateway


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One tick of the schedule."""
    del event
    return run(_ROOM, context.get_remaining_time_in_millis())


def run(room: Room, time_left_ms: int) -> dict[str, Any]:
    """Sweep every clock shard within the time left, and report."""
    stop_at = room.ports.now() + time_left_ms - SPARED_MS
    report = sweep(room.ports, range(room.environment.clock_shards), stop_at)
    _measure(room.environment.stage, report)
    return {"finished": report.finished, **report.counts}


def _measure(stage: str, report: Report) -> None:
    """EMF on standard output. `SweepRan` is there at each run: its absence is what alarms."""
    metrics = Metrics(namespace="Taskgate", service="stale-sweep")
    metrics.add_dimension("stage", stage)
    metrics.add_metric("SweepRan", MetricUnit.Count, 1)
    metrics.add_metric("TasksLookedAt", MetricUnit.Count, report.looked_at)
    metrics.add_metric("OldestOverdueSeconds", MetricUnit.Seconds, report.oldest_overdue_ms / 1000)
    metrics.flush_metrics()
