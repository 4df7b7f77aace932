"""Tasks as a test wants them: every field that a state implies is filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from taskgate.lifecycle import clock
from taskgate.lifecycle.change import Stamp
from taskgate.lifecycle.history import Entry
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.task import CancelMode, CancelRequest, Limits, Owner, Task, TaskError

T0: Final = 1_790_000_000_000
OWNER: Final = Owner("acme", "ada")
LIMITS: Final = Limits(
    queue_timeout=1_800_000,
    run_timeout=1_800_000,
    max_run=6 * 3_600_000,
    deadline=24 * 3_600_000,
    redeliver_after=180_000,
    max_redeliveries=2,
    lease=45_000,
    send_check=30_000,
    stall_grace=60_000,
    cancel_grace=30_000,
)
_IDS = iter(range(1, 10**9))


def stamp(at: int = T0, actor: str = "test", reason: str = "") -> Stamp:
    """A stamp with a fresh `op_id`."""
    return Stamp(at, f"op{next(_IDS)}", actor, reason)


def new_id() -> str:
    """A task id of the right shape, in rising order."""
    return f"task_{next(_IDS):026d}"


def task_in(state: State, at: int = T0, **fields: Any) -> Task:
    """A task that has just entered `state` at `at`, clock and all."""
    implied = _IMPLIED.get(state, {})
    base = Task(
        id=new_id(),
        owner=OWNER,
        type="embed_document",
        lane="cpu-normal",
        state=state,
        created_at=at,
        since=at,
        deadline_at=at + LIMITS.deadline,
        limits=LIMITS,
        op_id=f"op{next(_IDS)}",
        history=(Entry(at=at, verb=Verb.SUBMIT, to=State.CREATED, attempt=0, actor="test"),),
    )
    task = replace(base, **{**_resolve(implied, at), **fields})
    return replace(task, due_at=fields.get("due_at", clock.due(task)))


def _resolve(implied: dict[str, Any], at: int) -> dict[str, Any]:
    return {name: value(at) if callable(value) else value for name, value in implied.items()}


def _now(at: int) -> int:
    return at


_RUNNING: Final = {"attempt": 1, "worker": "w1", "started_at": _now, "queued_at": _now}
_ERROR: Final = TaskError(ErrorCode.MODEL_ERROR, "it broke", ErrorClass.PERMANENT)
_IMPLIED: Final[dict[State, dict[str, Any]]] = {
    State.SCHEDULED: {"run_at": lambda at: at + 60_000},
    State.QUEUED: {"queued_at": _now, "sent_at": _now},
    State.PROCESSING: _RUNNING,
    State.STALLED: _RUNNING,
    State.PAUSED: {"resume_at": _now, "attempt": 1},
    State.RETRYING: {
        "attempt": 1,
        "not_before": lambda at: at + 5_000,
        "queued_at": lambda at: at + 5_000,
        "sent_at": _now,
        "error": _ERROR,
    },
    State.CANCELING: _RUNNING
    | {"cancel": lambda at: CancelRequest(CancelMode.HARD, ErrorCode.CANCELED_BY_USER, at)},
    State.SUCCEEDED: _RUNNING | {"ended_at": _now},
    State.FAILED: _RUNNING | {"ended_at": _now, "error": _ERROR},
    State.TIMED_OUT: _RUNNING | {"ended_at": _now, "error": _ERROR},
    State.CANCELED: {"ended_at": _now, "error": _ERROR},
}
