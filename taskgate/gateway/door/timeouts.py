"""The limits that a task is born with: its type's, and the caller's own within them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from taskgate.catalog import TaskType
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.settings import Environment
from taskgate.task import Limits

BOUNDS: Final[Mapping[str, Callable[[TaskType], int]]] = {
    "queue_seconds": lambda kind: kind.deadline,
    "run_seconds": lambda kind: kind.max_run,
    "deadline_seconds": lambda kind: kind.deadline,
}
"""The most seconds that a caller may set, by task type."""


def limits_of(
    kind: TaskType,
    environment: Environment,
    expected: int | None = None,
    timeouts: Mapping[str, int] | None = None,
) -> Limits:
    """Milliseconds. `expected` sets the run's limit to three times that; `timeouts` win over it."""
    own = _within_bounds(kind, timeouts or {})
    run = kind.run_timeout if expected is None else min(expected * 3, kind.max_run)
    return Limits(
        queue_timeout=own.get("queue_seconds", kind.queue_timeout) * 1000,
        run_timeout=own.get("run_seconds", run) * 1000,
        max_run=kind.max_run * 1000,
        deadline=own.get("deadline_seconds", kind.deadline) * 1000,
        redeliver_after=kind.redeliver_after * 1000,
        max_redeliveries=kind.max_redeliveries,
        lease=environment.lease * 1000,
        send_check=environment.send_check * 1000,
        stall_grace=environment.stall_grace * 1000,
        cancel_grace=environment.cancel_grace * 1000,
    )


def _within_bounds(kind: TaskType, timeouts: Mapping[str, int]) -> Mapping[str, int]:
    wrong = [
        FieldProblem(f"timeouts.{name}", f"1 to {BOUNDS[name](kind)} for {kind.name}")
        for name, seconds in timeouts.items()
        if not 1 <= seconds <= BOUNDS[name](kind)
    ]
    if wrong:
        raise InvalidRequest(fields=wrong)
    return timeouts
