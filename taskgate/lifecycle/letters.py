"""What becomes of a task whose message was given up by its lane. Pure: act on the answer once.

A dead letter says only that a message was received too often. Whether the task needs it is for the
task to say: most dead letters are of tasks that have ended or moved on long ago.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from taskgate.lifecycle.states import HELD, State
from taskgate.task import Task


class LetterStep(StrEnum):
    """What the dead-letter function does about the task."""

    LEAVE = "leave"
    RESEND = "resend"
    BURY = "bury"


@dataclass(frozen=True, slots=True)
class LetterVerdict:
    """The step, and why."""

    step: LetterStep
    reason: str


def judge_letter(
    task: Task | None, letter: str, attempt: int, now: int, *, lane: str | None = None
) -> LetterVerdict:
    """The step for the task of a dead message: the id of the letter, the attempt that it carried,
    and the lane that gave it up, where that is known.
    """
    if task is None:
        return _leave("no such task")
    if task.state.ended:
        return _leave(f"already {task.state}")
    if task.state in HELD:
        return _leave("a worker holds it, and its clock watches that worker")
    if task.state in (State.SCHEDULED, State.PAUSED):
        return _leave(f"it is {task.state}: it waits for its clock, not for a message")
    if lane not in (None, task.lane):
        return _leave(f"void: the task was moved to the lane {task.lane}")
    return _waiting(task, letter, attempt, now)


def _waiting(task: Task, letter: str, attempt: int, now: int) -> LetterVerdict:
    if attempt < task.attempt:
        return _leave("an older message: the task was claimed since")
    if now >= task.deadline_at:
        return _leave("its life is over: the clock ends it")
    if task.resent_in == task.generation and task.resent_for == letter:
        return _leave("this letter was answered already")
    if task.resent_in == task.generation:
        return _again(task, now)
    if task.attempt > 0 and not task.budgets.crashes.left:
        return LetterVerdict(LetterStep.BURY, "its message died unclaimed after its last crash")
    return LetterVerdict(LetterStep.RESEND, "its message died unclaimed")


def _again(task: Task, now: int) -> LetterVerdict:
    if now >= task.queue_ends_at:
        return _leave("its waiting is over: the clock ends it")
    return LetterVerdict(LetterStep.BURY, "its messages die unclaimed, a fresh one too")


def _leave(reason: str) -> LetterVerdict:
    return LetterVerdict(LetterStep.LEAVE, reason)
