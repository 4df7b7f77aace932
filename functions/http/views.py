"""What the caller sees of a task: never its owner's keys, its clock or where its bytes lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from functions.http.times import when
from taskgate import stored_json
from taskgate.gateway.outbox.relating import Child, Relations
from taskgate.gateway.steer import steering, telling
from taskgate.gateway.steer.steering import CancelOutcome
from taskgate.gateway.views import canceling
from taskgate.gateway.views.reading import View
from taskgate.lifecycle.history import told
from taskgate.lifecycle.retry import Budget, Budgets
from taskgate.ports import Ledger, Pulse
from taskgate.task import CancelMode, Limits, ResultFile, Task, TaskError, Tried


def summary(task: Task, *, expired: bool = False) -> dict[str, Any]:
    """A task in a list; one that is `expired` is told of by its end alone."""
    return {
        "id": task.id,
        "type": task.type,
        "state": task.state,
        "priority": task.lane.rpartition("-")[2],
        "attempt": task.attempt,
        "created_at": when(task.created_at),
        "updated_at": when(task.since),
        "run_at": when(task.run_at),
        "queued_at": when(task.queued_at),
        "started_at": when(task.started_at),
        "ended_at": when(task.ended_at),
        "deadline_at": when(task.deadline_at),
        "error": _error_in_full(task.error),
        "cancel": cancel(task),
        "result": _result(task),
        "metadata": parsed(task.metadata) or {},
        "expired": expired,
        "parent": task.parent,
        "reused_from": task.reused_from,
        "trace_id": task.trace.trace_id,
        "urls": urls(task.id),
    }


def record(task: Task) -> dict[str, Any]:
    """All that is on record. How far a run has come is not: that takes the pulse."""
    return {
        **summary(task),
        "generation": task.generation,
        "not_before": when(task.not_before),
        "budgets": budgets(task.budgets),
        "limits": _limits(task.limits),
        "callback": callback(task),
        "history": _history(task),
    }


def whole(view: View, relations: Relations) -> dict[str, Any]:
    """The record, the pulse and what follows: everything that the caller may know of a task."""
    return {
        **record(view.task),
        "updated_at": _updated(view),
        "cancel": cancel(view.task, view.pulse),
        "progress": view.progress,
        "stage": view.stage,
        "children": [_child(child) for child in relations.children],
        "chain": relations.chain and {"state": relations.chain},
    }


def callback(task: Task) -> dict[str, Any] | None:
    """Whom the end is told to, and how that went."""
    told = task.callback
    if told is None:
        return None
    return {
        "url": told.url,
        "events": list(told.events),
        "state": telling.stand(task, told),
        "tries": told.tries,
        "next_try_at": when(telling.next_try_at(task)),
        "latest": [tried(attempt) for attempt in told.latest],
    }


def tried(attempt: Tried) -> dict[str, Any]:
    """One attempt of a callback."""
    return {
        "at": when(attempt.at),
        "status": attempt.status,
        "ms": attempt.ms,
        "reason": attempt.reason,
        "detail": attempt.detail,
    }


def status(view: View) -> dict[str, Any]:
    """The light answer for those who poll."""
    task = view.task
    return {
        "id": task.id,
        "state": task.state,
        "progress": view.progress,
        "stage": view.stage,
        "attempt": task.attempt,
        "updated_at": _updated(view),
        "error": _error(task.error),
    }


def file(result_file: ResultFile) -> dict[str, Any]:
    """One line of a result's manifest."""
    return {
        "name": result_file.name,
        "size": result_file.size,
        "sha256": result_file.sha256.hex(),
        "content_type": result_file.content_type,
    }


def budgets(budgets: Budgets) -> dict[str, dict[str, int]]:
    """What a task may still go through, each kind apart."""
    return {
        "retries": _budget(budgets.retries),
        "crashes": _budget(budgets.crashes),
        "interruptions": _budget(budgets.interruptions),
    }


def books(ledger: Ledger) -> dict[str, Any]:
    """A user's ledger; the means are over the tasks that have ended."""
    return {
        "active": len(ledger.active),
        "submitted": ledger.submitted,
        "succeeded": ledger.succeeded,
        "failed": ledger.failed,
        "timed_out": ledger.timed_out,
        "canceled": ledger.canceled,
        "mean_wait_seconds": _mean(ledger.wait_ms, ledger.ended),
        "mean_run_seconds": _mean(ledger.run_ms, ledger.ended),
    }


def urls(task_id: str) -> dict[str, str]:
    """Where to go on, as paths below the API's address, which is the caller's to know."""
    home = f"/v1/tasks/{task_id}"
    return {
        "self": home,
        "status": f"{home}/status",
        "result": f"{home}/result",
        "explain": f"{home}/explain",
        "cancel": f"{home}/cancel",
    }


def parsed(text: str | None) -> Any:
    """A stored JSON text; what is no strict JSON in it does not get out."""
    return None if text is None else stored_json.loaded(text)


def _child(child: Child) -> dict[str, Any]:
    task = child.task
    return {"id": child.id, "type": task and task.type, "state": task and task.state}


def _updated(view: View) -> str | None:
    return when(max(view.task.since, view.pulse.beat_at if view.pulse else 0))


def _error(error: TaskError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "code": error.code,
        "message": error.message,
        "class": error.error_class,
        "retryable": error.retryable,
    }


def _error_in_full(error: TaskError | None) -> dict[str, Any] | None:
    light = _error(error)
    return {**light, "details": error.details} if light and error else None


def cancel(task: Task, pulse: Pulse | None = None) -> dict[str, Any] | None:
    """The cancel: asked, seen, stopped. While the worker runs, only its pulse knows what it saw."""
    asked = task.cancel
    if asked is None:
        return None
    return {
        "mode": asked.mode,
        "code": asked.code,
        "asked_at": when(asked.at),
        "asked_by": asked.by,
        "seen_at": when(canceling.seen(task, pulse)),
        "stopped_at": when(asked.stopped_at),
        "enforced": asked.enforced,
        "kept_until": when(task.kept_until),
        "given_to": task.given_to,
    }


def canceled(task: Task) -> dict[str, Any]:
    """The answer to a cancel: the task, and what the cancel came to."""
    found = steering.outcome(task)
    return {**record(task), "outcome": found, "told": _OUTCOMES[found](task)}


def _result(task: Task) -> dict[str, Any] | None:
    if not task.result and task.output is None:
        return None
    return {"files": [file(f) for f in task.result], "output": parsed(task.output)}


def _budget(budget: Budget) -> dict[str, int]:
    return {"limit": budget.limit, "spent": budget.spent, "left": budget.left}


def _limits(limits: Limits) -> dict[str, float]:
    """In seconds, as everywhere in the API."""
    counts = {"max_redeliveries"}
    return {n: v if n in counts else v / 1000 for n, v in asdict(limits).items()}


def _history(task: Task) -> list[dict[str, Any]]:
    return [
        {
            "at": when(entry.at),
            "verb": entry.verb,
            "from": before,
            "to": entry.to,
            "attempt": entry.attempt,
            "actor": entry.actor,
            "reason": entry.reason,
            "folded": entry.folded,
        }
        for before, entry in told(task.history)
    ]


def _under_way(task: Task) -> str:
    if task.cancel and task.cancel.mode is CancelMode.SOFT:
        return "A soft cancel is under way: it is canceled when its run has ended; a hard one stops it."
    return "A hard cancel is under way: it is canceled when its worker has stopped."


_OUTCOMES: Final[Mapping[CancelOutcome, Callable[[Task], str]]] = {
    CancelOutcome.CANCELED: lambda _: "It is canceled: nothing computes it.",
    CancelOutcome.CANCELING: _under_way,
    CancelOutcome.TOO_LATE: lambda task: f"Too late: it had ended as {task.state} before.",
}


def _mean(total_ms: int, count: int) -> float | None:
    return round(total_ms / count / 1000, 3) if count else None
