"""What happened, as named events: one JSON line each, with stable fields.

Nothing that a user wrote and no secret is ever a field. A swallowed error is an event too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from taskgate.lifecycle.change import Change
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import HELD, State, Verb
from taskgate.metrics import measured
from taskgate.task import Task
from taskgate.tracing import MET

CRASHES: Final = frozenset(
    {"worker_lost", ErrorCode.WORKER_CRASHED, ErrorCode.HEARTBEAT_LOST, ErrorCode.OUT_OF_MEMORY}
)
"""Causes of a run's end that are a lost process, not an answer."""

LOG: Final = logging.getLogger("taskgate")


def event(
    name: str, level: int = logging.INFO, **fields: str | float | Sequence[float] | None
) -> None:
    """Log one event. `fields` must be ids, numbers or words of ours.

    A line that names a task names its trace, when this process knows it.
    """
    line = {"event": name, **fields, **_traced(fields)}
    LOG.log(level, "%s", json.dumps(line, default=str))


def measure(deployment: Mapping[str, str]) -> None:
    """From now on the lines of this process bear their metrics, under the deployment's labels."""
    others = [f for f in LOG.filters if not isinstance(f, _Measuring)]
    LOG.filters[:] = [_Measuring(deployment), *others]


def transition(change: Change, before: Task | None, after: Task) -> None:
    """One line for each change of state: what the liveness metrics and audits read."""
    if change.verb is None:
        return
    event(
        "transition",
        task=after.id,
        trace_id=after.trace.trace_id,
        type=after.type,
        verb=change.verb,
        origin=before.state if before else None,
        state=after.state,
        attempt=after.attempt,
        actor=change.stamp.actor,
        error=after.error.code if after.error else None,
        waited_seconds=_waited(change, after),
        **_run(change, before, after),
        **_again(change, after),
    )


def swallowed(name: str, error: BaseException, **fields: str | float | None) -> None:
    """An error that was caught on purpose, since something else makes it good."""
    event(name, logging.WARNING, error=type(error).__name__, detail=str(error)[:200], **fields)


def _traced(fields: Mapping[str, Any]) -> Mapping[str, str]:
    task = fields.get("task")
    if not isinstance(task, str) or "trace_id" in fields:
        return {}
    trace_id = MET.trace_id(task)
    return {"trace_id": trace_id} if trace_id else {}


def _waited(change: Change, after: Task) -> float | None:
    """How long the task stood in its lane. A back-off before it was due is not waiting."""
    if change.verb is not Verb.CLAIM or after.started_at is None:
        return None
    return max(0, after.started_at - (after.queued_at or after.created_at)) / 1000


def _run(change: Change, before: Task | None, after: Task) -> dict[str, Any]:
    """How long a run took that is over now, and what it was wasted by if it did not count."""
    if before is None or before.state not in HELD or before.started_at is None:
        return {}
    if after.state in HELD and after.attempt == before.attempt:
        return {}
    seconds = max(0, change.stamp.at - before.started_at) / 1000
    if after.state is State.SUCCEEDED:
        return {"ran_seconds": seconds, "crashed": 0}
    cause = _cause(change, after)
    return {
        "ran_seconds": seconds,
        "wasted_seconds": seconds,
        "cause": cause,
        # Of every run that is over: so its average is the share of runs that took their worker along.
        "crashed": int(cause in CRASHES),
    }


def _again(change: Change, after: Task) -> dict[str, Any]:
    """A run that starts again for no error of its own; what failed tells `retry` itself."""
    if change.verb is Verb.TAKE_OVER or (change.verb is Verb.RESCUE and not after.state.ended):
        return {"again": 1, "error_class": ErrorClass.CRASH}
    if change.verb is Verb.PAUSE and after.resume_at == change.stamp.at:
        return {"again": 1, "error_class": ErrorClass.INTERRUPTION}
    return {}


def _cause(change: Change, after: Task) -> str:
    match change.verb:
        case Verb.TAKE_OVER:
            return "worker_lost"
        case Verb.PAUSE:
            return "interrupted"
        case _:
            return after.error.code if after.error else "snoozed"


class _Measuring(logging.Filter):
    """Adds the metrics to a line before anything formats it."""

    def __init__(self, deployment: Mapping[str, str]) -> None:
        super().__init__()
        self._deployment = deployment

    def filter(self, record: logging.LogRecord) -> bool:
        fields = json.loads(record.getMessage())
        record.msg, record.args = "%s", (json.dumps(measured(fields, self._deployment)),)
        return True
