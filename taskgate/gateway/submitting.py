"""Submit: check the request, write the task with all that belongs to it, send its message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from taskgate.catalog import Catalog, TaskType
from taskgate.errors import (
    FieldProblem,
    IdempotencyKeyReused,
    InvalidInput,
    Refused,
    TaskNotFound,
    Unavailable,
)
from taskgate.events import swallowed
from taskgate.gateway.scheduling import AT_ONCE, Start
from taskgate.gateway.stamps import new_task_id, stamp
from taskgate.gateway.timeouts import limits_of
from taskgate.lifecycle import transitions
from taskgate.lifecycle.states import State
from taskgate.ports import IdempotencyKey, Message, Ports, Replay, Submission
from taskgate.principal import Principal
from taskgate.settings import Environment
from taskgate.task import Task

MAX_INPUT_BYTES: Final = 96 * 1024
"""Of the input as JSON: room for a 64 KiB text and its escapes (docs/decisions/0004)."""
MAX_TEXT_BYTES: Final = 64 * 1024
IDEMPOTENCY_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """One request, its form already checked. Times are seconds."""

    type: str
    input: Mapping[str, Any]
    priority: str = "normal"
    metadata: Mapping[str, str] = field(default_factory=dict)
    expected_seconds: int | None = None
    start: Start = AT_ONCE
    timeouts: Mapping[str, int] = field(default_factory=dict)
    """Of `gateway.timeouts.BOUNDS`."""
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The task, and whether it is an earlier one that the same key made."""

    task: Task
    replayed: bool = False


def submit(
    ports: Ports,
    catalog: Catalog,
    environment: Environment,
    principal: Principal,
    request: SubmitRequest,
) -> Submitted:
    """Accept a task: 4 calls, 2 for one that is scheduled; now it is on record and will end."""
    principal.require("tasks:write")
    kind = catalog[request.type]
    text = checked_input(kind, request.input)
    now = ports.now()
    task = transitions.submit(
        _blank(kind, environment, principal, request, now), stamp(now, principal.actor)
    )
    submission = Submission(
        task=task,
        input=text,
        idempotency=_key(request, now),
        max_pending=principal.max_pending,
    )
    replay = ports.tasks.create(submission)
    if replay:
        return _replayed(ports, replay, fingerprint(request))
    # A scheduled one has its clock: nothing is in its lane before its time.
    scheduled = task.state is State.SCHEDULED
    return Submitted(task if scheduled else send_created(ports, task))


def send_created(ports: Ports, task: Task) -> Task:
    """Send the task's message and mark it queued. If either is lost, the clock brings it back."""
    try:
        ports.lanes.send(task.lane, Message(task.id, task.attempt))
        return ports.tasks.apply(transitions.enqueue(task, stamp(ports.now(), "api")))
    except Refused as refused:
        # A quick worker claimed it between the send and the mark.
        return refused.current or task
    except Unavailable as error:
        swallowed("enqueue_unclear", error, task=task.id)
        return task


def checked_input(kind: TaskType, given: Mapping[str, Any]) -> str:
    """The validated input as JSON text, every number as it was given; or `InvalidInput`."""
    try:
        model = kind.input_model.model_validate(dict(given))
    except ValidationError as error:
        raise InvalidInput(fields=_fields(error)) from None
    values = model.model_dump(mode="json")
    for name, value in values.items():
        _text_fits(f"input.{name}", value)
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > MAX_INPUT_BYTES:
        raise InvalidInput(
            fields=[FieldProblem("input", f"at most {MAX_INPUT_BYTES} bytes as JSON")]
        )
    return text


def fingerprint(request: SubmitRequest) -> str:
    """What an idempotency key stands for: the whole request. 1 and 1.0 differ, key order not."""
    parts = {
        "route": "POST /v1/tasks",
        "type": request.type,
        "input": request.input,
        "priority": request.priority,
        "metadata": request.metadata,
        "expected_seconds": request.expected_seconds,
        **_when_given(
            run_at=request.start.run_at,
            delay=request.start.delay,
            timeouts=dict(request.timeouts) or None,
        ),
    }
    text = json.dumps(parts, sort_keys=True, allow_nan=False, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _when_given(**parts: Any) -> Mapping[str, Any]:
    """What is absent leaves no trace: a key of before such a field came up keeps its meaning."""
    return {name: value for name, value in parts.items() if value is not None}


def _replayed(ports: Ports, replay: Replay, mark: str) -> Submitted:
    if replay.fingerprint != mark:
        raise IdempotencyKeyReused
    task = ports.tasks.get(replay.task_id)
    if task is None:
        raise TaskNotFound
    if task.state is State.CREATED and task.due_at is not None and task.due_at <= ports.now():
        # The first try may have died between the write and the send: no need to wait for the sweep.
        task = send_created(ports, task)
    return Submitted(task, replayed=True)


def _blank(
    kind: TaskType,
    environment: Environment,
    principal: Principal,
    request: SubmitRequest,
    now: int,
) -> Task:
    limits = limits_of(kind, environment, request.expected_seconds, request.timeouts)
    start = max(now, request.start.at(now))
    return Task(
        id=new_task_id(now),
        owner=principal.owner,
        type=kind.name,
        lane=kind.lane(request.priority),
        state=State.CREATED,
        created_at=now,
        since=now,
        deadline_at=start + limits.deadline,
        run_at=start if start > now else None,
        limits=limits,
        budgets=kind.retry.budgets(),
        metadata=json.dumps(dict(request.metadata), ensure_ascii=False)
        if request.metadata
        else None,
    )


def _key(request: SubmitRequest, now: int) -> IdempotencyKey | None:
    if request.idempotency_key is None:
        return None
    expires_at = now // 1000 + IDEMPOTENCY_SECONDS
    return IdempotencyKey(request.idempotency_key, fingerprint(request), expires_at)


def _fields(error: ValidationError) -> list[FieldProblem]:
    return [
        FieldProblem(".".join(("input", *map(str, e["loc"]))), e["msg"])
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _text_fits(name: str, value: object) -> None:
    if name == "input.content_base64":
        return
    if isinstance(value, str) and len(value.encode()) > MAX_TEXT_BYTES:
        raise InvalidInput(fields=[FieldProblem(name, f"at most {MAX_TEXT_BYTES} bytes of UTF-8")])
