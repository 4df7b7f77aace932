"""Submit: check the request, write the task with all that belongs to it, send its message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from taskgate.catalog import Catalog, TaskType
from taskgate.errors import (
    IdempotencyKeyReused,
    Problem,
    RateLimited,
    Refused,
    TaskNotFound,
    Unavailable,
)
from taskgate.events import swallowed
from taskgate.gateway import switching
from taskgate.gateway.door import admitting, booking, reusing
from taskgate.gateway.door.admitting import LaneDepths
from taskgate.gateway.door.chains import Step, check_steps, write_steps
from taskgate.gateway.door.inputs import input_text
from taskgate.gateway.door.scheduling import AT_ONCE, Start
from taskgate.gateway.door.timeouts import limits_of
from taskgate.gateway.door.uploaded import Uploaded, require_kept
from taskgate.gateway.stamps import new_task_id, stamp
from taskgate.gateway.switching import KnownSwitches
from taskgate.lifecycle import transitions
from taskgate.lifecycle.states import State
from taskgate.ports import IdempotencyKey, Message, Ports, Replay, Submission
from taskgate.principal import Principal
from taskgate.salvage import Salvage
from taskgate.settings import Environment
from taskgate.shards import shard_of
from taskgate.task import Callback, Task
from taskgate.tracing import MET, Trace

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
    callback: Callback | None = None
    then: Sequence[Step] = ()
    idempotency_key: str | None = None
    reuse: bool = True
    """A result that is kept of an identical submit of the same user may be given at once."""
    trace: Trace | None = None
    """The caller's trace, which the task goes on with; None begins one."""


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
    depths: LaneDepths | None = None,
    switches: KnownSwitches | None = None,
) -> Submitted:
    """Accept a task: 4 calls, 2 for one that is scheduled; now it is on record and will end.

    What would be refused now, but was accepted under its key before, is answered with that task.
    """
    principal.require("tasks:write")
    try:
        submission = _admitted(ports, catalog, environment, principal, request, depths, switches)
    except RateLimited:
        # A replay spends a submit, or one key could load the table for ever.
        raise
    except Problem:
        replay = _accepted_before(ports, principal, request)
        if replay is None:
            raise
        return _replayed(ports, replay, replay.fingerprint)
    found = _created(ports, submission)
    if isinstance(found, Replay):
        return _replayed(ports, found, fingerprint(request))
    # A scheduled one has its clock: nothing is in its lane before its time.
    waits = found.state is State.CREATED
    return Submitted(send_created(ports, found) if waits else found)


def _admitted(
    ports: Ports,
    catalog: Catalog,
    environment: Environment,
    principal: Principal,
    request: SubmitRequest,
    depths: LaneDepths | None,
    switches: KnownSwitches | None,
) -> Submission:
    """The task as it is to be put on record, or why it cannot be now.

    The limits are looked at from the cheapest to the dearest: what costs no call (the switches are
    remembered), then the user's rate, then the lane where `depths` are known, then its uploads (a
    call each), and the books in the write itself.
    """
    kind = catalog[request.type]
    if switches:
        switching.admit(switches.now(ports), kind.name, ports.now())
    text, now = _checked(catalog, kind, principal, request), ports.now()
    blank = _blank(kind, environment, principal, request, now)
    admitting.check_rate(ports, principal)
    if depths and blank.run_at is None:
        depths.check(ports, blank.lane, environment.lane_limit)
    uploads = Uploaded(ports=ports, catalog=catalog, environment=environment, owner=principal.owner)
    blank = uploads.bound(blank, request.input, request.then)
    require_kept(blank, blank.deadline_at, request.start.field)
    task = transitions.submit(blank, stamp(now, principal.actor))
    MET.note(task.id, task.given_trace)
    return Submission(
        task=task,
        input=text,
        idempotency=_key(request, now),
        max_pending=principal.max_pending,
        ledger_shards=principal.ledger_shards,
        then=write_steps(request.then) if request.then else None,
        reuse=reusing.wanted(kind, task, text) if request.reuse else None,
    )


def _checked(catalog: Catalog, kind: TaskType, principal: Principal, request: SubmitRequest) -> str:
    """The input as it is kept, once all is well that the request alone decides."""
    admitting.check_priority(principal, request.priority)
    text = input_text(kind, request.input)
    check_steps(request.then, catalog)
    admitting.check_priorities(principal, request.then)
    return text


def _accepted_before(ports: Ports, who: Principal, request: SubmitRequest) -> Replay | None:
    """What this very request came to under its key, when it was sent before: 1 call.

    The lane may have filled up since, an upload grown too old, the intake been paused: nothing of
    that concerns a task that was accepted. Another request under a used key is refused as it is.
    """
    if request.idempotency_key is None:
        return None
    found = ports.tasks.find_replay(who.owner, request.idempotency_key)
    return found if found and found.fingerprint == fingerprint(request) else None


def _created(ports: Ports, submission: Submission) -> Task | Replay:
    """Put the task on record; with a kept result it has ended in the same write."""
    found = booking.create(ports, submission)
    if isinstance(found, Salvage):
        given = reusing.give(ports, submission, found)
        if given is not None:
            return given
        found = booking.create(ports, replace(submission, reuse=None))
    assert not isinstance(found, Salvage)  # noqa: S101 - none was asked for
    return found


def send_created(ports: Ports, task: Task, actor: str = "api") -> Task:
    """Send the task's message and mark it queued. If either is lost, the clock brings it back."""
    try:
        ports.lanes.send(task.lane, Message.of(task))
        return ports.tasks.apply(transitions.enqueue(task, stamp(ports.now(), actor)))
    except Refused as refused:
        # A quick worker claimed it between the send and the mark.
        return refused.current or task
    except Unavailable as error:
        swallowed("enqueue_unclear", error, task=task.id)
        return task


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
            callback=[request.callback.url, request.callback.events] if request.callback else None,
            then=write_steps(request.then) if request.then else None,
            reuse=None if request.reuse else False,
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
    start, new_id = max(now, request.start.at(now)), new_task_id(now)
    return Task(
        id=new_id,
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
        callback=request.callback,
        follow_ups=len(request.then),
        max_processing=principal.plan.max_processing,
        ledger_shard=shard_of(new_id, principal.ledger_shards),
        given_trace=request.trace,
    )


def _key(request: SubmitRequest, now: int) -> IdempotencyKey | None:
    if request.idempotency_key is None:
        return None
    expires_at = now // 1000 + IDEMPOTENCY_SECONDS
    return IdempotencyKey(request.idempotency_key, fingerprint(request), expires_at)
