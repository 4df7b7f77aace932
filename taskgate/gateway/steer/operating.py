"""What people may do beside cancel: extend, recover or fail a suspect, pause, resume, reopen.

The owner of a task may extend, recover, fail and reopen it; who looks after it (scope `admin` in the
task's tenant, or `operator`) may do all of it. Each act stands in the task's history with its actor and reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import (
    FieldProblem,
    IllegalTransition,
    InvalidRequest,
    Refused,
    Unavailable,
    VerbNotAllowed,
)
from taskgate.events import swallowed
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.steering import changed
from taskgate.gateway.views.reading import FOREVER, within_time
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp, noted, read, require
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp, RetryPolicy
from taskgate.lifecycle.states import State, Verb
from taskgate.ports import Message, Ports, Signal
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.shards import room_in
from taskgate.task import Task, TaskError

MAX_EXTENSION: Final = 6 * 3600
UPLOAD_GOES: Final = "What it reads of uploads may be gone before a new life of it ends: upload again, and submit anew."

INPUT_GONE: Final = "What it was given is kept no more: submit anew."


def extend(ports: Ports, who: Principal, task_id: str, seconds: int, reason: str = "") -> Task:
    """More time for a run, up to the type's `max_run`. A suspect becomes `processing` again."""
    if not 1 <= seconds <= MAX_EXTENSION:
        raise InvalidRequest(fields=[FieldProblem("seconds", f"1 to {MAX_EXTENSION}")])

    def change(task: Task, made: Stamp) -> Change:
        if task.limits.run_timeout >= task.limits.max_run:
            longest = task.limits.max_run // 1000
            raise VerbNotAllowed(f"The run already has the longest time, {longest} s.")
        return transitions.extend(task, made, seconds)

    after = _act(ports, who, task_id, reason or f"{seconds} s more", change)
    tell(ports, after, "deadline")
    return after


def recover(ports: Ports, who: Principal, task_id: str, reason: str = "") -> Task:
    """Do not wait for the grace: run a suspect again now, or end it if its crashes are spent."""

    def change(task: Task, made: Stamp) -> Change:
        lost = TaskError(ErrorCode.HEARTBEAT_LOST, "recovered by hand", ErrorClass.CRASH)
        return transitions.rescue(task, made, lost)

    after = _act(ports, who, task_id, reason, change)
    tell(ports, after, "lost")
    return _sent(ports, after)


def fail(ports: Ports, who: Principal, task_id: str, reason: str = "") -> Task:
    """End a suspect as failed, without another try."""

    def change(task: Task, made: Stamp) -> Change:
        if task.state is not State.STALLED:
            raise IllegalTransition(Verb.FAIL, task.state)
        error = TaskError(ErrorCode.HEARTBEAT_LOST, "failed by hand", ErrorClass.PERMANENT)
        return transitions.fail(task, made, error, GiveUp("by hand"), guard=read(task))

    after = _act(ports, who, task_id, reason, change)
    tell(ports, after, "lost")
    return after


def pause(ports: Ports, who: Principal, task_id: str, reason: str = "") -> Task:
    """Hold a waiting task back until somebody resumes it. For those who look after it."""
    who.require("admin")
    return _act(ports, who, task_id, reason, transitions.pause, already=State.PAUSED)


def resume(ports: Ports, who: Principal, task_id: str, reason: str = "") -> Task:
    """Let a paused task back into its lane. For those who look after it."""
    who.require("admin")
    after = _act(ports, who, task_id, reason, transitions.resume, already=State.QUEUED)
    return _sent(ports, after)


def reopen(
    ports: Ports,
    catalog: Catalog,
    who: Principal,
    task_id: str,
    reason: str = "",
    keep: Retention = FOREVER,
) -> Task:
    """Give a failed or timed-out task another life: fresh budgets, the history kept.

    For its owner it is one more unfinished task, within the same limit as a submit's. Its input is
    kept for as long as the new life may last: 1 call more, 2 for a task with follow-ups.
    """

    def change(task: Task, made: Stamp) -> Change:
        require(task, Verb.REOPEN)
        if task.uploads_until is not None and made.at + task.limits.deadline > task.uploads_until:
            raise VerbNotAllowed(UPLOAD_GOES, task.state)
        if not ports.tasks.keep_input(task, made.at + task.limits.deadline):
            raise VerbNotAllowed(INPUT_GONE, task.state)
        room = _room(who, task) if task.owner == who.owner else None
        return transitions.reopen(task, made, policy_of(catalog, task).budgets(), room)

    return _sent(ports, _act(ports, who, task_id, reason, change, keep=keep))


def _room(who: Principal, task: Task) -> int:
    """In the shard in which it is booked for all its life, even when the plan has fewer by now."""
    return max(1, room_in(who.max_pending, who.ledger_shards, task.ledger_shard))


def policy_of(catalog: Catalog, task: Task) -> RetryPolicy:
    """The retry policy of the task's type; the default one when the type is served no more."""
    known = catalog.find(task.type)
    return known.retry if known else RetryPolicy()


def note_refusal(ports: Ports, current: Task, attempt: int, actor: str, what: str) -> None:
    """Put into the history that a late attempt's end was refused, and where its result lies."""
    reason = f"refused: attempt {attempt} came too late; {what}"
    change = noted(current, Verb.SUCCEED, stamp(ports.now(), actor, reason), attempt)
    try:
        ports.tasks.apply(change)
    except (Refused, Unavailable) as error:
        swallowed("refusal_not_noted", error, task=current.id)


def tell(ports: Ports, task: Task, kind: str) -> None:
    """Leave a word for the worker of the attempt; what it was told is on record already."""
    try:
        ports.pulses.signal(task.id, Signal(kind, task.attempt))
    except Unavailable as error:
        swallowed("signal_unsent", error, task=task.id)


def _act(
    ports: Ports,
    who: Principal,
    task_id: str,
    reason: str,
    build: Callable[[Task, Stamp], Change],
    already: State | None = None,
    keep: Retention = FOREVER,
) -> Task:
    who.require("tasks:write")
    task = within_time(ports.tasks.get(task_id), who, ports.now(), keep)

    def change(current: Task) -> Change | None:
        if current.state is already:
            return None
        return build(current, stamp(ports.now(), who.actor_for(current.owner), reason))

    return changed(ports, task, change)


def _sent(ports: Ports, task: Task) -> Task:
    if task.state is State.QUEUED:
        try:
            ports.lanes.send(task.lane, Message.of(task))
        except Unavailable as error:
            swallowed("send_left_to_sweep", error, task=task.id)
    return task
