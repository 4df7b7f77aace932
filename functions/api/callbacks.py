"""A callback as its owner sees it: how it went, once more, and the secret that signs it."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from taskgate.gateway.door import redelivering
from taskgate.gateway.steer import telling


def attempts(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/callback`: how it stands, and its latest attempts."""
    asked.query()
    task = telling.attempts(desk.ports, asked.principal, asked.task_id, desk.retention)
    return answer({"id": task.id, **(views.callback(task) or {})})


def redeliver(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/callback/redeliver`: 202; it is on its way."""
    asked.query()
    task = redelivering.redeliver(desk.ports, asked.principal, asked.task_id, desk.retention)
    return answer({"id": task.id, **(views.callback(task) or {})}, 202)


def secrets(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/webhook-secrets`: what signs the tenant's callbacks, the newest first."""
    asked.query()
    principal = asked.principal
    principal.require("tasks:write")
    return answer({"secrets": list(desk.secrets(principal.owner.tenant))})
