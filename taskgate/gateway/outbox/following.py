"""Follow-ups: what comes after a task, created from its end. Creating twice is creating once.

A child's id is derived from its parent's, so whoever creates it again meets it. When the parent did
not succeed, what depended on it is put on record as canceled, with the reason; its own follow-ups
go the same way, each by the end before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ulid import ULID

from taskgate import stored_json
from taskgate.catalog import Catalog
from taskgate.errors import FieldProblem, InvalidInput, Refused, UnknownTaskType
from taskgate.events import event, transition
from taskgate.gateway.door.chains import Step, read_steps, write_steps
from taskgate.gateway.door.inputs import checked_input
from taskgate.gateway.door.submitting import send_created
from taskgate.gateway.door.timeouts import limits_of
from taskgate.gateway.door.uploaded import of_step
from taskgate.gateway.stamps import stamp
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, RetryPolicy
from taskgate.lifecycle.states import State
from taskgate.ports import Ports, Submission
from taskgate.settings import Environment
from taskgate.task import CancelMode, Task, TaskError
from taskgate.tracing import MET

UNLIMITED: Final = 10**9
"""A chain was accepted as a whole: its later parts are not refused for the first ones."""


def child_id(parent: str, index: int) -> str:
    """The id of a task's follow-up: the parent's time, then a hash that nobody else comes to."""
    time = ULID.from_str(parent.removeprefix("task_")).bytes[:6]
    return f"task_{ULID(time + hashlib.sha256(f'{parent}|{index}'.encode()).digest()[:10])}"


def create_follow_ups(
    ports: Ports, catalog: Catalog, environment: Environment, parent: Task
) -> tuple[str, ...]:
    """Put the follow-ups of an ended task on record; returns their ids. Safe to repeat."""
    text = ports.tasks.get_then(parent.id)
    if text is None:
        # Only a hand, or a restore, comes to this: they are kept for as long as the task may live.
        event("follow_ups_gone", task=parent.id, follow_ups=parent.follow_ups)
    steps = read_steps(text or "[]")
    return tuple(
        _create(ports, catalog, environment, parent, step, child_id(parent.id, index))
        for index, step in enumerate(steps)
    )


def _create(
    ports: Ports,
    catalog: Catalog,
    environment: Environment,
    parent: Task,
    step: Step,
    new_id: str,
) -> str:
    text, error = _resolved_input(catalog, parent, step)
    child = _child(ports, catalog, environment, parent, step, new_id)
    ends = _ends_at_once(ports, parent, child, error)
    submission = Submission(
        task=(ends and ends.after) or child,
        input=text,
        idempotency=None,
        max_pending=UNLIMITED,
        then=write_steps(step.then) if step.then else None,
    )
    try:
        ports.tasks.create(submission)
    except Refused:
        _go_on(ports, parent, new_id, error)
        return new_id
    if ends and ends.after:
        transition(ends, child, ends.after)
    else:
        send_created(ports, child, "outbox")
    return new_id


def _ends_at_once(
    ports: Ports, parent: Task, child: Task, error: TaskError | None
) -> Change | None:
    """How a child ends that is never to run: in the very write that puts it on record, so that nobody
    can start it in between.
    """
    if parent.state is not State.SUCCEEDED:
        made = stamp(ports.now(), "outbox", f"{parent.id} ended {parent.state}")
        code = ErrorCode.CANCELED_BY_USER
        return transitions.cancel(child, made, CancelMode.HARD, code)
    return transitions.bury(child, stamp(ports.now(), "outbox"), error) if error else None


def _go_on(ports: Ports, parent: Task, child_id: str, error: TaskError | None) -> None:
    """It is on record since an earlier try, which may have died before it sent the message."""
    known = ports.tasks.get(child_id)
    if known is None or known.state is not State.CREATED:
        return
    if ends := _ends_at_once(ports, parent, known, error):
        _apply(ports, known, ends)
    else:
        send_created(ports, known, "outbox")


def _apply(ports: Ports, child: Task, change: Change) -> None:
    try:
        transition(change, child, ports.tasks.apply(change))
    except Refused:
        # Another copy of us was quicker: the child has gone the same way.
        return


def _child(
    ports: Ports,
    catalog: Catalog,
    environment: Environment,
    parent: Task,
    step: Step,
    new_id: str,
) -> Task:
    # A type that is served no more has a place all the same, so that its follow-up can say so.
    kind, now = catalog.find(step.type), ports.now()
    limits = limits_of(kind, environment) if kind else parent.limits
    blank = Task(
        id=new_id,
        owner=parent.owner,
        type=step.type,
        lane=kind.lane(step.priority) if kind else parent.lane,
        state=State.CREATED,
        created_at=now,
        since=now,
        deadline_at=now + limits.deadline,
        limits=limits,
        budgets=(kind.retry if kind else RetryPolicy()).budgets(),
        metadata=parent.metadata,
        callback=step.callback,
        follow_ups=len(step.then),
        uploads_until=of_step(catalog, environment, step),
        parent=parent.id,
        max_processing=parent.max_processing,
        ledger_shard=parent.ledger_shard,
        given_trace=parent.trace,
    )
    MET.note(blank.id, blank.given_trace)
    return transitions.submit(blank, stamp(now, "outbox", f"follows {parent.id}"))


def _resolved_input(catalog: Catalog, parent: Task, step: Step) -> tuple[str, TaskError | None]:
    """The child's input with its references filled in; or why that cannot be done."""
    if parent.state is not State.SUCCEEDED:
        return json.dumps(step.input, ensure_ascii=False, allow_nan=False), None
    try:
        values = _resolve(step.input, parent)
        return checked_input(catalog[step.type], values), None
    except InvalidInput as error:
        told = "; ".join(f"{f.field}: {f.message}" for f in error.fields) or str(error)
    except UnknownTaskType:
        told = f"{step.type} is served no more"
    problem = TaskError(ErrorCode.INVALID_INPUT, told, ErrorClass.PERMANENT)
    return json.dumps(step.input, ensure_ascii=False, allow_nan=False), problem


def _resolve(value: Any, parent: Task) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {"$result"}:
            return _result(str(value["$result"]), parent)
        if set(value) == {"$output"}:
            return _output(str(value["$output"]), parent)
        return {key: _resolve(inner, parent) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, parent) for inner in value]
    return value


def _result(name: str, parent: Task) -> dict[str, str]:
    if name not in {file.name for file in parent.result}:
        raise InvalidInput(fields=[FieldProblem("$result", f"{parent.id} has no file {name}")])
    return {"task": parent.id, "file": name}


def _output(name: str, parent: Task) -> Any:
    output = stored_json.loaded(parent.output) if parent.output else {}
    if name not in output:
        raise InvalidInput(fields=[FieldProblem("$output", f"{parent.id} has no output {name}")])
    return output[name]
