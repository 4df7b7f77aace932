"""The workers, as JSON."""

from __future__ import annotations

from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.operation import READS, Answered, Operation
from functions.http.shapes import (
    TEXT,
    TIME,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
)
from functions.http.times import when
from taskgate.gateway.views.fleet import fleet
from taskgate.roster import Sign, WorkerState

_STATE: Final[Schema] = one_of(WorkerState)
_TASK: Final = object_of({"id": TEXT, "type": TEXT, "attempt": WHOLE})
_GPU: Final = object_of({"model": TEXT, "memory_mib": or_null(WHOLE)})
POOL: Final[Schema] = {
    "pool": TEXT,
    "idle": WHOLE,
    "busy": WHOLE,
    "draining": WHOLE,
    "lost": described(WHOLE, "Not heard of for several signs; told of for an hour."),
}
WORKER: Final[Schema] = {
    "id": TEXT,
    "pool": TEXT,
    "state": _STATE,
    "version": TEXT,
    "started_at": TIME,
    "last_beat_at": TIME,
    "task": described(or_null(_TASK), "What it ran at its last sign."),
    "gpu": or_null(_GPU),
}
SCHEMAS: Final[dict[str, Schema]] = {
    "Workers": object_of(
        {
            "pools": list_of(object_of(POOL)),
            "workers": described(
                or_null(list_of(object_of(WORKER))),
                "Each of them; null unless you are an operator.",
            ),
        }
    )
}
FLEET: Final = {
    ("GET", "/v1/workers"): Operation(
        name="listWorkers",
        scope="tasks:read",
        summary="How many workers each pool has; to operators, each worker",
        about="Workers give a sign of themselves each few beats, so this is about a minute old. An"
        " operator also sees which worker runs which task, its version and its GPU.",
        answers={200: Answered("The pools, and the workers.", "Workers")},
        refuses=READS,
    )
}


def workers(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/workers`: counts to everybody, each worker to operators."""
    asked.query()
    beat = desk.room.environment.beat
    found = fleet(desk.ports, asked.principal, desk.catalog.pools, beat)
    pools = [{"pool": pool, **counts} for pool, counts in found.counts.items()]
    each = None if found.workers is None else [_worker(sign) for sign in found.workers]
    return answer({"pools": pools, "workers": each})


def _worker(sign: Sign) -> dict[str, Any]:
    task = {"id": sign.task_id, "type": sign.task_type, "attempt": sign.attempt}
    return {
        "id": sign.worker,
        "pool": sign.pool,
        "state": sign.state,
        "version": sign.version,
        "started_at": when(sign.started_at),
        "last_beat_at": when(sign.beat_at),
        "task": task if sign.task_id else None,
        "gpu": {"model": sign.gpu, "memory_mib": sign.gpu_memory_mib} if sign.gpu else None,
    }
