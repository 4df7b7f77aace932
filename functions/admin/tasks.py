"""Tasks as those see them who look after them: whose they are, and what the gateway still owes."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.desk import Desk
from functions.admin.names import name_of
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.errors import LedgerNotFound
from taskgate.gateway.office import overseeing
from taskgate.gateway.outbox.relating import relations
from taskgate.task import Owner, Task


def get(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/tasks/{task_id}`: the whole task, whoever owns it and however old it is."""
    asked.query()
    view = overseeing.found(desk.ports, asked.principal, asked.task_id)
    whole = views.whole(view, relations(desk.ports, view.task))
    return answer({**kept(view.task), "task": whole})


def ledger(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/ledgers/{tenant}/{user}`: a user's books, and the tasks that are unfinished."""
    asked.query()
    tenant, user = name_of(asked, "tenant"), name_of(asked, "user")
    asked.principal.require("admin")
    if tenant is None or user is None:
        raise LedgerNotFound
    books = overseeing.books(desk.ports, asked.principal, Owner(tenant, user))
    return answer(
        {
            "tenant": tenant,
            "user": user,
            "balanced": books.balanced,
            "active_tasks": sorted(books.active),
            "books": views.books(books),
        }
    )


def kept(task: Task) -> dict[str, Any]:
    """What its owner is not shown."""
    return {
        "tenant": task.owner.tenant,
        "user": task.owner.user,
        "due_at": when(task.due_at),
        "owes": [duty.value for duty in task.owes],
    }
