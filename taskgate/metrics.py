"""Which events are also metrics, and how they are written down: EMF, by plain JSON lines.

An event's line bears its metrics itself, so functions and workers need no metrics library and no
call: CloudWatch finds them in the log. Labels are the deployment's stage and cell, and at most one of
`type` and `pool`, each few; a tenant or an id is never one, since each combination is billed as a
metric of its own.
What is counted by class or cause bears it in its name.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

NAMESPACE: Final = "Taskgate"
COUNT: Final = "Count"
SECONDS: Final = "Seconds"
MILLISECONDS: Final = "Milliseconds"
MAX_VALUES: Final = 100
"""Values of one metric in one line; CloudWatch drops what is over."""

SWEEP_RAN: Final = "SweepRan"
TASKS_LOOKED_AT: Final = "TasksLookedAt"
OLDEST_OVERDUE: Final = "OldestOverdueSeconds"
STUCK: Final = "task_stuck_alert"
EXECUTING_COUNT: Final = "task_executing_count"
EXECUTING_DURATION: Final = "task_executing_duration_seconds"
QUEUE_WAIT: Final = "task_queue_wait_seconds"
RUN_DURATION: Final = "task_run_seconds"
WASTED: Final = "wasted_gpu_seconds"
RETRIES: Final = "task_retries"
DEAD_LETTERS: Final = "dead_letters"
CLEANED: Final = "objects_cleaned"
RECEIVERS_OPENED: Final = "receivers_opened"
CALLBACKS_GIVEN_UP: Final = "callbacks_given_up"
UNACCOUNTED: Final = "TasksUnaccounted"
RECONCILE_RAN: Final = "ReconcileRan"
CRASHES: Final = "worker_crashes"
API_TIME: Final = "api_milliseconds"
OLDEST_OWED: Final = "OldestOwedSeconds"
BACKLOG: Final = "pool_backlog"
WAITING: Final = "pool_waiting"
UNATTENDED: Final = "pool_unattended"
REPAIRS: Final = "TasksRepaired"
CANCELS_ENFORCED: Final = "cancels_enforced"
CANCELS_UNHEARD: Final = "cancels_unheard"
SALVAGED: Final = "results_salvaged"
REUSED: Final = "results_reused"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of an event. `field` holds its value; without one the event counts as 1."""

    name: str
    unit: str = COUNT
    field: str | None = None
    label: str | None = None
    """The field that it is also counted by."""
    named_by: str | None = None
    """The field whose value makes a second metric, ``<name>_<value>``."""


METRICS: Final[Mapping[str, tuple[Metric, ...]]] = {
    "transition": (
        Metric(QUEUE_WAIT, SECONDS, "waited_seconds", "type"),
        Metric(RUN_DURATION, SECONDS, "ran_seconds", "type"),
        Metric(WASTED, SECONDS, "wasted_seconds", "type", named_by="cause"),
        Metric(RETRIES, COUNT, "again", "type", named_by="error_class"),
        Metric(CRASHES, COUNT, "crashed", "type"),
    ),
    "request": (Metric(API_TIME, MILLISECONDS, "unheld_ms"),),
    "outbox_swept": (Metric(OLDEST_OWED, SECONDS, "oldest_owed_seconds"),),
    "retry": (Metric(RETRIES, label="type", named_by="error_class"),),
    "swept": (
        Metric(SWEEP_RAN),
        Metric(TASKS_LOOKED_AT, COUNT, "looked_at"),
        Metric(OLDEST_OVERDUE, SECONDS, "oldest_overdue_seconds"),
        Metric(STUCK, COUNT, "stuck"),
        Metric(EXECUTING_COUNT, COUNT, "none_executing"),
    ),
    "executing": (
        Metric(EXECUTING_COUNT, COUNT, "count", "type"),
        Metric(EXECUTING_DURATION, SECONDS, "durations", "type"),
    ),
    "cancel_enforced": (Metric(CANCELS_ENFORCED, label="type"),),
    "cancel_unheard": (Metric(CANCELS_UNHEARD, label="type"),),
    "backlog": (
        Metric(BACKLOG, COUNT, "backlog", "pool"),
        Metric(WAITING, COUNT, "waiting", "pool"),
        Metric(UNATTENDED, COUNT, "unattended", "pool"),
    ),
    "salvaged": (Metric(SALVAGED, label="type", named_by="kept"),),
    "result_reused": (Metric(REUSED, label="type"),),
    "dead_letter": (Metric(DEAD_LETTERS, label="pool", named_by="step"),),
    "cleaned": (Metric(CLEANED, COUNT, "objects", named_by="kind"),),
    "receiver_opened": (Metric(RECEIVERS_OPENED),),
    "callback_given_up": (Metric(CALLBACKS_GIVEN_UP),),
    "reconciled": (
        Metric(RECONCILE_RAN, COUNT, "ran"),
        Metric(UNACCOUNTED, COUNT, "unaccounted"),
        Metric(REPAIRS, COUNT, "repaired"),
    ),
}


def labels(stage: str, cell: str) -> dict[str, str]:
    """What tells a deployment's metrics from another's; each dimension of ours begins with these.

    CloudWatch adds up whatever bears the same labels: without the cell, two cells of one stage in an
    account would set off each other's alarms and scale each other's workers.
    """
    return {"stage": stage, "cell": cell}


def measured(fields: Mapping[str, Any], deployment: Mapping[str, str]) -> dict[str, Any]:
    """The event's fields with its metrics; as they are when it has none."""
    present = [
        (metric, 1 if metric.field is None else fields[metric.field])
        for metric in METRICS.get(str(fields.get("event")), ())
        if metric.field is None or fields.get(metric.field) is not None
    ]
    if not present:
        return dict(fields)
    values: dict[str, Any] = {}
    groups: dict[str | None, list[Metric]] = defaultdict(list)
    for metric, value in present:
        label = metric.label if metric.label and fields.get(metric.label) else None
        for name in _names(metric, fields):
            values[name] = value
            groups[label].append(Metric(name, metric.unit))
    directives = [_directive([*deployment], label, found) for label, found in groups.items()]
    emf = {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": directives}
    return {**fields, **deployment, **values, "_aws": emf}


def _names(metric: Metric, fields: Mapping[str, Any]) -> Iterable[str]:
    yield metric.name
    if metric.named_by and fields.get(metric.named_by):
        yield f"{metric.name}_{fields[metric.named_by]}"


def _directive(common: list[str], label: str | None, metrics: Iterable[Metric]) -> dict[str, Any]:
    """Twice over, with and without the label: CloudWatch does not add up over labels by itself."""
    return {
        "Namespace": NAMESPACE,
        "Dimensions": [common, *([[*common, label]] if label else [])],
        "Metrics": [{"Name": m.name, "Unit": m.unit} for m in metrics],
    }
