"""What is not a task: the catalog, the books, the API's own description, and its health."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions import VERSION
from functions.api import openapi
from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import JSON, answer, text_of
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.catalog.tasktype import TaskInput, TaskType
from taskgate.gateway.views import reading
from taskgate.switches import Kind, Switch

DOCS: Final = Path(__file__).with_name("docs.html")
PUBLIC: Final = {"Cache-Control": "public, max-age=300"}
DOCS_HEADERS: Final = {
    **PUBLIC,
    # The page brings all it needs, and may load nothing but the document that it shows.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}


def task_types(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/task-types`: what this deployment serves."""
    asked.query()
    return answer({"task_types": [_task_type(kind) for kind in desk.catalog]})


def stats(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/stats`: the caller's ledger."""
    asked.query()
    return answer(views.books(reading.stats(desk.ports, asked.principal)))


def queues(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/queues`: about how many wait in each lane. Operators only."""
    asked.query()
    waiting = reading.queues(desk.ports, asked.principal, desk.catalog.lanes())
    switches, now = desk.switches.now(desk.ports), desk.ports.now()
    types = {kind.name: switches.on(Kind.TYPE, kind.name, now) for kind in desk.catalog}
    return answer(
        {
            "queues": [
                {**_queue(lane, count), "paused": pause(switches.on(Kind.LANE, lane, now))}
                for lane, count in waiting.items()
            ],
            "intake": pause(switches.on(Kind.INTAKE, "", now)),
            "types": {name: pause(switch) for name, switch in types.items() if switch},
        }
    )


def pause(switch: Switch | None) -> dict[str, Any] | None:
    """A switch that is on, as it is shown."""
    if switch is None:
        return None
    return {
        "by": switch.by,
        "since": when(switch.since),
        "reason": switch.reason,
        "until": when(switch.until),
        "refuses": switch.refuse or switch.kind is Kind.INTAKE,
    }


def openapi_json(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /openapi.json`: OpenAPI 3.1, built once."""
    del desk, asked
    return Response(status_code=200, content_type=JSON, body=_document(), headers={**PUBLIC})


def docs(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /docs`: one page without anybody else's scripts, drawn from /openapi.json."""
    del desk, asked
    return Response(
        status_code=200,
        content_type="text/html; charset=utf-8",
        body=_page(),
        headers={**DOCS_HEADERS},
    )


def healthz(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /healthz`: the function answers. It says nothing about what lies behind it."""
    del asked
    return answer({"status": "ok", "version": VERSION, "stage": desk.room.environment.stage})


def _task_type(kind: TaskType) -> dict[str, Any]:
    """A task type with the schema of its input. Times are seconds."""
    return {
        "name": kind.name,
        "title": kind.title,
        "pool": kind.pool,
        "version": kind.version,
        "reuse_seconds": kind.reuse_results,
        "limits": {
            "queue_timeout": kind.queue_timeout,
            "run_timeout": kind.run_timeout,
            "max_run": kind.max_run,
            "deadline": kind.deadline,
        },
        "input_schema": _input_schema(kind.input_model),
    }


def _queue(lane: str, waiting: int) -> dict[str, Any]:
    pool, _, priority = lane.rpartition("-")
    return {"lane": lane, "pool": pool, "priority": priority, "waiting": waiting}


@cache
def _input_schema(model: type[TaskInput]) -> dict[str, Any]:
    """Built once: it costs more than all else that an answer takes."""
    return model.model_json_schema()


@cache
def _document() -> str:
    return text_of(openapi.document())


@cache
def _page() -> str:
    return DOCS.read_text(encoding="utf-8")
