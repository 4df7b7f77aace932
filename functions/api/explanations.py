"""`explain`: why a task is where it is, for people and for programs."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.gateway.outbox import relating
from taskgate.gateway.views import estimating, explaining
from taskgate.gateway.views.debts import Debts, OwedCallback
from taskgate.gateway.views.estimating import Estimate, Quantiles
from taskgate.gateway.views.explaining import Explanation, Holder
from taskgate.receivers import Health


def explain(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/explain`: 2 calls, 3 more while the task waits in its lane, 1 for
    each level of what follows one that has ended.
    """
    asked.query()
    told = explaining.explained(
        desk.ports,
        asked.principal,
        asked.task_id,
        desk.switches.now(desk.ports),
        desk.room.environment.beat,
        desk.retention,
        desk.catalog,
    )
    shown = _shown(told, estimating.estimate(desk.ports, told))
    if follows := relating.sentence(told.task, relating.relations(desk.ports, told.task)):
        shown["sentences"].append(follows)
    return answer(shown)


def _shown(told: Explanation, estimate: Estimate | None) -> dict[str, Any]:
    task, look, limit = told.task, told.look, told.limit
    return {
        "id": task.id,
        "state": task.state,
        "since": when(task.since),
        "why": told.why,
        "waits_for": told.waits_for,
        "next_look": look and {"at": when(look.at), "by": when(look.by)},
        "next_limit": limit and {"name": limit.name, "at": when(limit.at), "then": limit.then},
        "holder": told.holder and _holder(told.holder),
        "lane": {"name": task.lane, "waiting": told.waiting},
        "estimate": estimate and {"wait": _seconds(estimate.wait), "run": _seconds(estimate.run)},
        "cancel": views.cancel(task, told.pulse),
        "budgets": views.budgets(task.budgets),
        "owes": told.owes and _owes(told.owes),
        "actions": list(told.actions),
        "sentences": [*told.sentences, *([estimate.sentence] if estimate else [])],
    }


def _seconds(found: Quantiles | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {
        "p50_seconds": found.p50 / 1000,
        "p90_seconds": found.p90 / 1000,
        "samples": found.samples,
    }


def _owes(debts: Debts) -> dict[str, Any]:
    return {
        "duties": list(debts.duties),
        "next_at": when(debts.next_at),
        "callback": debts.callback and _callback(debts.callback),
    }


def _callback(owed: OwedCallback) -> dict[str, Any]:
    return {
        "tries": owed.tries,
        "last": owed.last and views.tried(owed.last),
        "next_try_at": when(owed.next_try_at),
        "receiver": owed.receiver and _receiver(owed.receiver),
    }


def _receiver(health: Health) -> dict[str, Any]:
    return {
        "breaker": health.breaker,
        "failures": health.failures,
        "since": when(health.opened_at),
        "next_probe_at": when(health.next_probe_at) if health.is_open else None,
    }


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "worker": holder.worker,
        "started_at": when(holder.started_at),
        "last_sign_at": when(holder.last_sign_at),
    }
