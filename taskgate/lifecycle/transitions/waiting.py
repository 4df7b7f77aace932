"""What happens to a task that waits: it enters, is sent, woken, moved, expires or is buried."""

from __future__ import annotations

from typing import Any

from taskgate.lifecycle.change import (
    Change,
    Stamp,
    born,
    moved,
    rearmed,
    require,
)
from taskgate.lifecycle.states import State, Verb
from taskgate.lifecycle.transitions.shaping import (
    Outcome,
    capped,
    requeued,
    waiting_until,
)
from taskgate.task import Task, TaskError


def submit(task: Task, stamp: Stamp) -> Task:
    """The task's first record: `created`, or `scheduled` when its `run_at` is ahead."""
    ahead = (task.run_at or 0) > stamp.at
    return born(task, State.SCHEDULED if ahead else State.CREATED, stamp)


def reuse(task: Task, stamp: Stamp, outcome: Outcome, source: str) -> Change:
    """A task that is just being submitted ends at once, with the result of another like it."""
    return moved(
        task,
        Verb.REUSE,
        State.SUCCEEDED,
        stamp,
        result=outcome.files,
        output=outcome.output,
        reused_from=source,
    )


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
    return moved(task, Verb.ENQUEUE, State.QUEUED, stamp, **requeued(stamp, task.budgets))


def reschedule(task: Task, stamp: Stamp, run_at: int) -> Change:
    """A scheduled task gets another time, or goes to its lane when that is not ahead.

    Its whole-life limit counts from the new time.
    """
    start = max(run_at, stamp.at)
    times: dict[str, Any] = {"run_at": run_at, "deadline_at": start + task.limits.deadline}
    if run_at > stamp.at:
        return moved(task, Verb.RESCHEDULE, State.SCHEDULED, stamp, **times)
    waiting = requeued(stamp, task.budgets)
    return moved(task, Verb.RESCHEDULE, State.QUEUED, stamp, **waiting, **times)


def prioritize(task: Task, stamp: Stamp, lane: str, held_at: int | None = None) -> Change:
    """It waits in another lane. The message of before is void there, a fresh one follows this write.

    It has waited since it was queued, whatever its lane: its queue limit is not begun anew. But that
    a switch held it in the lane that it leaves, last at `held_at`, is no more its own wait than before.
    """
    since = max(task.queued_at or task.since, held_at or 0)
    if task.state is State.RETRYING:
        waiting = waiting_until(stamp, max(task.not_before or 0, stamp.at))
        return moved(
            task,
            Verb.PRIORITIZE,
            State.RETRYING,
            stamp,
            **waiting | {"queued_at": since},
            lane=lane,
        )
    if task.state in (State.CREATED, State.QUEUED):
        sent: dict[str, Any] = {"queued_at": since, "sent_at": None}
        return moved(task, Verb.PRIORITIZE, State.QUEUED, stamp, **sent, sends=0, lane=lane)
    return moved(task, Verb.PRIORITIZE, task.state, stamp, lane=lane)


def resend(task: Task, stamp: Stamp, letter: str) -> Change:
    """Its message, the dead `letter`, was answered by a fresh one: once in a generation."""
    mark: dict[str, Any] = {"resent_in": task.generation, "resent_for": letter}
    if task.state is not State.CREATED:
        return rearmed(task, stamp, sent_at=stamp.at, **mark)
    return moved(
        task,
        Verb.ENQUEUE,
        State.QUEUED,
        stamp,
        queued_at=stamp.at,
        sent_at=stamp.at,
        sends=0,
        **mark,
    )


def expire(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """Its own limit has passed while nobody computed it."""
    return moved(task, Verb.EXPIRE, State.TIMED_OUT, stamp, error=capped(error))


def bury(task: Task, stamp: Stamp, error: TaskError) -> Change:
    """Its messages die unclaimed: end it, visibly, rather than let it wait for ever."""
    return moved(task, Verb.BURY, State.FAILED, stamp, error=capped(error))
