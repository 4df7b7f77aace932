"""`explain`: why a task is where it is, for people and for programs."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.gateway import explaining
from taskgate.gateway.explaining import Explanation, Holder


def explain(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/explain`: 2 calls."""
    asked.query()
    told = explaining.explained(desk.ports, asked.principal, asked.task_id)
    return answer(_shown(told))


def _shown(told: Explanation) -> dict[str, Any]:
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
        "budgets": views.budgets(task.budgets),
        "actions": list(told.actions),
        "sentences": list(told.sentences),
    }


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "worker": holder.worker,
        "started_at": when(holder.started_at),
        "last_sign_at": when(holder.last_sign_at),
    }
