"""What several transitions share: the parts of a change that a state implies, and the byte limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from taskgate.lifecycle.change import (
    PulseGuard,
    Stamp,
)
from taskgate.lifecycle.history import cap_bytes
from taskgate.lifecycle.retry import Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import ResultFile, Task, TaskError

MAX_ERROR_MESSAGE: Final = 500
MAX_ERROR_DETAILS: Final = 4000
MAX_OUTPUT: Final = 8 * 1024
MAX_CHECKPOINT: Final = 1024
LONGEST_DELAY: Final = 900_000
"""Milliseconds; SQS delays a message no longer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a successful run brought: its files, and a small JSON text for the caller."""

    files: tuple[ResultFile, ...] = ()
    output: str | None = None


def capped(error: TaskError) -> TaskError:
    """The error with its texts cut to their byte limits, so that it can always be saved."""
    return replace(
        error,
        message=cap_bytes(error.message, MAX_ERROR_MESSAGE),
        details=cap_bytes(error.details, MAX_ERROR_DETAILS),
    )


def requeued(stamp: Stamp, budgets: Budgets) -> dict[str, Any]:
    return {
        "budgets": budgets,
        "queued_at": stamp.at,
        "sent_at": None,
        "sends": 0,
        "not_before": None,
        "worker": None,
    }


def saved(checkpoint: str | None) -> dict[str, Any]:
    """What the run had saved; what an earlier one saved stands while there is nothing newer."""
    return {"checkpoint": cap_bytes(checkpoint, MAX_CHECKPOINT)} if checkpoint else {}


def waiting_until(stamp: Stamp, not_before: int) -> dict[str, Any]:
    return {
        "not_before": not_before,
        "queued_at": not_before,
        "sent_at": stamp.at if not_before - stamp.at <= LONGEST_DELAY else None,
        "sends": 0,
        "worker": None,
    }


def silent(task: Task, stamp: Stamp) -> PulseGuard:
    return PulseGuard(task.attempt, stamp.at - task.limits.lease)


def bad_end(error: TaskError) -> State:
    timeouts = {ErrorCode.RUN_TIMEOUT, ErrorCode.DEADLINE, ErrorCode.QUEUE_TIMEOUT}
    return State.TIMED_OUT if error.code in timeouts else State.FAILED


def canceled(code: ErrorCode, stamp: Stamp) -> TaskError:
    return TaskError(code, stamp.reason or "canceled", ErrorClass.PERMANENT)
