"""What happens to a task that a worker runs: claims, extensions, and the ways an attempt ends."""

from __future__ import annotations

from dataclasses import replace

from taskgate.lifecycle.change import (
    Change,
    Guard,
    Stamp,
    claimed,
    held,
    moved,
)
from taskgate.lifecycle.retry import ErrorClass, GiveUp, RetryAt
from taskgate.lifecycle.states import State, Verb
from taskgate.lifecycle.transitions.shaping import (
    Outcome,
    bad_end,
    capped,
    saved,
    silent,
    waiting_until,
)
from taskgate.salvage import Salvage
from taskgate.task import Task, TaskError


def claim(
    task_id: str, attempt: int, stamp: Stamp, worker: str, lease: int, lane: str | None = None
) -> Change:
    """A worker takes the task that its message names, in one write and without reading first.

    With `lane` only while the task waits in that lane.
    """
    return claimed(task_id, attempt, stamp, worker, lease, lane)


def take_over(task: Task, stamp: Stamp, worker: str) -> Change:
    """Another worker restarts a task whose holder is dead. The crash is counted here."""
    guard = replace(held(task, Verb.TAKE_OVER), pulse=silent(task, stamp))
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
    # The new limit is computed from the copy, and it is this attempt's: both must still stand.
    guard = replace(held(task, Verb.EXTEND), version=task.version)
    return moved(task, Verb.EXTEND, State.PROCESSING, stamp, guard, limits=limits)


def succeed(task: Task, stamp: Stamp, outcome: Outcome, salvage: Salvage | None = None) -> Change:
    """The holder's result counts; with a `salvage` it is kept for others like it, too."""
    change = moved(
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
    return replace(change, salvage=salvage)


def fail(
    task: Task,
    stamp: Stamp,
    error: TaskError,
    decision: RetryAt | GiveUp,
    guard: Guard | None = None,
    checkpoint: str | None = None,
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
            **waiting_until(stamp, decision.not_before),
            **saved(checkpoint),
        )
    return moved(task, Verb.FAIL, bad_end(error), stamp, guard, error=error, budgets=budgets)


def snooze(task: Task, stamp: Stamp, until: int, checkpoint: str | None = None) -> Change:
    """The runner asks to be called again at `until` (epoch ms). It costs no budget."""
    return moved(
        task,
        Verb.FAIL,
        State.RETRYING,
        stamp,
        held(task, Verb.FAIL),
        **waiting_until(stamp, until),
        **saved(checkpoint),
    )


def hand_back(task: Task, stamp: Stamp, checkpoint: str | None) -> Change:
    """A draining worker gives its task back, with what it had done so far; due at once."""
    return moved(
        task,
        Verb.PAUSE,
        State.PAUSED,
        stamp,
        replace(held(task, Verb.PAUSE), states=frozenset({State.PROCESSING, State.STALLED})),
        resume_at=stamp.at,
        budgets=task.budgets.spend(ErrorClass.INTERRUPTION),
        worker=None,
        **saved(checkpoint),
    )
