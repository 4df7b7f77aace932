"""One constructor a verb. Each returns the whole `Change`; none of them writes anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from taskgate.errors import IllegalTransition
from taskgate.lifecycle.change import (
    Change,
    Guard,
    PulseGuard,
    Stamp,
    born,
    claimed,
    held,
    moved,
    read,
    rearmed,
    require,
)
from taskgate.lifecycle.history import cap_bytes
from taskgate.lifecycle.retry import Budgets, ErrorClass, ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import HELD, State, Verb
from taskgate.task import CancelMode, CancelRequest, ResultFile, Task, TaskError

MAX_ERROR_MESSAGE: Final = 500
MAX_ERROR_DETAILS: Final = 4000
MAX_OUTPUT: Final = 8 * 1024
MAX_CHECKPOINT: Final = 1024
LONGEST_DELAY: Final = 900_000
"""Milliseconds; SQS delays a message no longer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a successful run brought: its files, and a small JSON text for the caller."""

    files: tuple[ResultFile, ...] = ()
    output: str | None = None


def submit(task: Task, stamp: Stamp) -> Task:
    """The task's first record: `created`, or `scheduled` when its `run_at` is ahead."""
    ahead = (task.run_at or 0) > stamp.at
    return born(task, State.SCHEDULED if ahead else State.CREATED, stamp)


def enqueue(task: Task, stamp: Stamp) -> Change:
    """The message is known to be in its lane."""
    return moved(
        task, Verb.ENQUEUE, State.QUEUED, stamp, queued_at=stamp.at, sent_at=stamp.at, sends=0
    )


def wake(task: Task, stamp: Stamp) -> Change:
    """The time of a scheduled task has come. Its message follows this write, since a worker drops
    one that comes before it; the clock brings it if it is lost.
    """
    require(task, Verb.RESCHEDULE)
    return moved(task, Verb.ENQUEUE, State.QUEUED, stamp, **_requeued(stamp, task.budgets))


def reschedule(task: Task, stamp: Stamp, run_at: int) -> Change:
    """A scheduled task gets another time, or goes to its lane when that is not ahead.

    Its whole-life limit counts from the new time.
    """
    start = max(run_at, stamp.at)
    times: dict[str, Any] = {"run_at": run_at, "deadline_at": start + task.limits.deadline}
    if run_at > stamp.at:
        return moved(task, Verb.RESCHEDULE, State.SCHEDULED, stamp, **times)
    waiting = _requeued(stamp, task.budgets)
    return moved(task, Verb.RESCHEDULE, State.QUEUED, stamp, **waiting, **times)


def claim(task_id: str, attempt: int, stamp: Stamp, worker: str, lease: int) -> Change:
    """A worker takes the task that its message names, in one write and without reading first."""
    return claimed(task_id, attempt, stamp, worker, lease)


def take_over(task: Task, stamp: Stamp, worker: str) -> Change:
    """Another worker restarts a task whose holder is dead. The crash is counted here."""
    guard = replace(held(task, Verb.TAKE_OVER), pulse=_silent(task, stamp))
    return moved(
        task,
        Verb.TAKE_OVER,
        State.PROCESSING,
        stamp,
        guard,
        attempt=task.attempt + 1,
        worker=worker,
        started_at=stamp.at,
        budgets=task.budgets.spend(ErrorClass.CRASH),
    )


def extend(task: Task, stamp: Stamp, seconds: int) -> Change:
    """More time for the run, at most the type's `max_run` in all."""
    run_timeout = min(task.limits.run_timeout + seconds * 1000, task.limits.max_run)
    limits = replace(task.limits, run_timeout=run_timeout)
    return moved(task, Verb.EXTEND, State.PROCESSING, stamp, limits=limits)


def succeed(task: Task, stamp: Stamp, outcome: Outcome) -> Change:
    """The holder's result counts."""
    return moved(
        task,
        Verb.SUCCEED,
        State.SUCCEEDED,
        stamp,
        held(task, Verb.SUCCEED),
        result=outcome.files,
        output=outcome.output,
        error=None,
        checkpoint=None,
    )


def fail(
    task: Task,
    stamp: Stamp,
    error: TaskError,
    decision: RetryAt | GiveUp,
    guard: Guard | None = None,
) -> Change:
    """The run ended badly; the retry policy has decided whether another try follows.

    A next try within `LONGEST_DELAY` is sent to the lane as a delayed message; a later one is
    left to the clock. The default guard is the attempt; a person passes what they read.
    """
    guard = guard or held(task, Verb.FAIL)
    error, budgets = capped(error), task.budgets.spend(error.error_class)
    if isinstance(decision, RetryAt):
        return moved(
            task,
            Verb.FAIL,
            State.RETRYING,
            stamp,
            guard,
            error=error,
            budgets=budgets,
            **_waiting_until(stamp, decision.not_before),
        )
    return moved(task, Verb.FAIL, _bad_end(error), stamp, guard, error=error, budgets=budgets)


def snooze(task: Task, stamp: Stamp, until: int) -> Change:
    """The runner asks to be called again at `until` (epoch ms). It costs no budget."""
    return moved(
        task,
        Verb.FAIL,
        State.RETRYING,
        stamp,
        held(task, Verb.FAIL),
        **_waiting_until(stamp, until),
    )


def stall(task: Task, stamp: Stamp) -> Change:
    """Suspected: the beat is lost, or the run's time is up. Announced, not yet judged."""
    require(task, Verb.STALL)
    guard = replace(held(task, Verb.STALL), version=task.version)
    if stamp.at < task.run_ends_at:
        guard = replace(guard, pulse=_silent(task, stamp))
    return moved(task, Verb.STALL, State.STALLED, stamp, guard)


def revive(task: Task, stamp: Stamp) -> Change:
    """The beat is back."""
    return moved(task, Verb.REVIVE, State.PROCESSING, stamp)


def rescue(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """The suspicion is confirmed: run again while the crash budget lasts, else end."""
    error, crashed = capped(error), error.error_class is ErrorClass.CRASH
    budgets = task.budgets.spend(ErrorClass.CRASH) if crashed else task.budgets
    if crashed and task.budgets.crashes.left:
        return moved(
            task, Verb.RESCUE, State.QUEUED, stamp, **_requeued(stamp, budgets), error=error
        )
    return moved(task, Verb.RESCUE, _bad_end(error), stamp, error=error, budgets=budgets)


def expire(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """Its own limit has passed while nobody computed it."""
    return moved(task, Verb.EXPIRE, State.TIMED_OUT, stamp, error=capped(error))


def resend(task: Task, stamp: Stamp) -> Change:
    """Its message died unclaimed and a fresh one was sent: once in a generation."""
    if task.state is not State.CREATED:
        return rearmed(task, stamp, sent_at=stamp.at, resent_in=task.generation)
    return moved(
        task,
        Verb.ENQUEUE,
        State.QUEUED,
        stamp,
        queued_at=stamp.at,
        sent_at=stamp.at,
        sends=0,
        resent_in=task.generation,
    )


def bury(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """Its messages die unclaimed: end it, visibly, rather than let it wait for ever."""
    return moved(task, Verb.BURY, State.FAILED, stamp, error=capped(error))


def pause(task: Task, stamp: Stamp, resume_at: int | None = None) -> Change:
    """An operator holds a waiting task back, until `resume_at` or until somebody resumes it."""
    if task.state in HELD:
        raise IllegalTransition(Verb.PAUSE, task.state)
    return moved(task, Verb.PAUSE, State.PAUSED, stamp, resume_at=resume_at)


def hand_back(task: Task, stamp: Stamp, checkpoint: str | None) -> Change:
    """A draining worker gives its task back, with what it had done so far; due at once."""
    return moved(
        task,
        Verb.PAUSE,
        State.PAUSED,
        stamp,
        replace(held(task, Verb.PAUSE), states=frozenset({State.PROCESSING, State.STALLED})),
        resume_at=stamp.at,
        checkpoint=cap_bytes(checkpoint, MAX_CHECKPOINT) if checkpoint else None,
        budgets=task.budgets.spend(ErrorClass.INTERRUPTION),
        worker=None,
    )


def resume(task: Task, stamp: Stamp) -> Change:
    """Back to its lane; the message follows, and the clock brings it if it is lost."""
    waiting = _requeued(stamp, task.budgets)
    return moved(task, Verb.RESUME, State.QUEUED, stamp, **waiting, resume_at=None)


def cancel(task: Task, stamp: Stamp, mode: CancelMode, code: ErrorCode) -> Change:
    """Canceled at once when nobody computes it; else asked for, until it is known to be stopped."""
    require(task, Verb.CANCEL)
    request = CancelRequest(mode, code, stamp.at)
    if task.state in HELD:
        return moved(task, Verb.CANCEL, State.CANCELING, stamp, cancel=request)
    return moved(
        task, Verb.CANCEL, State.CANCELED, stamp, cancel=request, error=_canceled(code, stamp)
    )


def stopped(task: Task, stamp: Stamp, *, forced: bool = False) -> Change:
    """Nothing computes it any more. Forced by the sweep, the attempt goes up."""
    require(task, Verb.STOPPED)
    code = task.cancel.code if task.cancel else ErrorCode.CANCELED_BY_USER
    return moved(
        task,
        Verb.STOPPED,
        State.CANCELED,
        stamp,
        read(task) if forced else held(task, Verb.STOPPED),
        attempt=task.attempt + 1 if forced else task.attempt,
        error=_canceled(code, stamp),
    )


def reopen(task: Task, stamp: Stamp, budgets: Budgets) -> Change:
    """A person gives an ended task another life: fresh budgets and deadline, history kept."""
    return moved(
        task,
        Verb.REOPEN,
        State.QUEUED,
        stamp,
        **_requeued(stamp, budgets),
        generation=task.generation + 1,
        deadline_at=stamp.at + task.limits.deadline,
        error=None,
        started_at=None,
    )


def capped(error: TaskError) -> TaskError:
    """The error with its texts cut to their byte limits, so that it can always be saved."""
    return replace(
        error,
        message=cap_bytes(error.message, MAX_ERROR_MESSAGE),
        details=cap_bytes(error.details, MAX_ERROR_DETAILS),
    )


def _requeued(stamp: Stamp, budgets: Budgets) -> dict[str, Any]:
    return {
        "budgets": budgets,
        "queued_at": stamp.at,
        "sent_at": None,
        "sends": 0,
        "not_before": None,
        "worker": None,
    }


def _waiting_until(stamp: Stamp, not_before: int) -> dict[str, Any]:
    return {
        "not_before": not_before,
        "queued_at": not_before,
        "sent_at": stamp.at if not_before - stamp.at <= LONGEST_DELAY else None,
        "sends": 0,
        "worker": None,
    }


def _silent(task: Task, stamp: Stamp) -> PulseGuard:
    return PulseGuard(task.attempt, stamp.at - task.limits.lease)


def _bad_end(error: TaskError) -> State:
    timeouts = {ErrorCode.RUN_TIMEOUT, ErrorCode.DEADLINE, ErrorCode.QUEUE_TIMEOUT}
    return State.TIMED_OUT if error.code in timeouts else State.FAILED


def _canceled(code: ErrorCode, stamp: Stamp) -> TaskError:
    return TaskError(code, stamp.reason or "canceled", ErrorClass.PERMANENT)
