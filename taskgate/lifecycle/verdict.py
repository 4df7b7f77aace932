"""What a look at a due task, or at a refused claim, leads to. Pure: act on the answer once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import CancelMode, Task, TaskError


class Step(StrEnum):
    """What the sweep does with a due task."""

    SEND = "send"
    """Put its message into the lane (again), then say so on the task."""
    STALL = "stall"
    REVIVE = "revive"
    RESCUE = "rescue"
    EXPIRE = "expire"
    RESUME = "resume"
    STOP = "stop"
    """The grace of a cancel is over: end it, and refuse whoever comes late."""
    SIGNAL = "signal"
    """The cancel was not seen yet: leave the word again."""
    REARM = "rearm"
    """Nothing is wrong; look again later."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One step, with the error that it puts on the task or the next time to look (epoch ms)."""

    step: Step
    error: TaskError | None = None
    look_at: int | None = None
    seen_at: int | None = None
    """When the worker had the word of the cancel, as far as its pulse knows."""

    @property
    def waited_too_long(self) -> bool:
        """Whether it ends by its queue limit, which does not run while a switch holds it."""
        return self.step is Step.EXPIRE and self.error is _QUEUE_TIMEOUT


def last_sign(task: Task, beat_at: int | None) -> int:
    """When the holder of the present attempt was last known to live.

    A suspicion is no sign of life: the claim and the beats before it are.
    """
    since = task.started_at or 0 if task.state is State.STALLED else task.since
    return max(since, beat_at or 0)


def silent(task: Task, beat_at: int | None, now: int) -> bool:
    """Whether the holder has let a whole lease pass without a sign."""
    return last_sign(task, beat_at) + task.limits.lease <= now


HELD_LOOK_MS: Final = 600_000
"""A task that an operator's switch holds back is looked at no more often: nothing can happen to it."""


def queue_ends_at(task: Task, held_at: int | None) -> int:
    """When waiting ends in `queue_timeout`. What operators hold back is not the task's own wait: it
    counts anew from `held_at`, the latest moment at which it could not be started.
    """
    return max(
        task.queue_ends_at, min((held_at or 0) + task.limits.queue_timeout, task.deadline_at)
    )


def judge(task: Task, beat_at: int | None, now: int, held_at: int | None = None) -> Verdict | None:
    """The step for a task whose clock is due; None when it has ended or is not due after all.

    `beat_at` is the last beat of the *present* attempt, if there was one; `held_at` the latest
    moment at which a switch kept it from being started: now, or the end of the last pause.
    """
    if task.due_at is None or task.due_at > now or task.state.ended:
        return None
    match task.state:
        case State.PROCESSING:
            return _processing(task, beat_at, now)
        case State.STALLED:
            return _stalled(task, beat_at, now)
        case State.CANCELING:
            return _canceling(task, beat_at, now)
        case _:
            return _waiting(task, now, held_at)


def _processing(task: Task, beat_at: int | None, now: int) -> Verdict:
    if now >= task.run_ends_at or silent(task, beat_at, now):
        return Verdict(Step.STALL)
    look_at = min(last_sign(task, beat_at) + task.limits.lease, task.run_ends_at)
    return Verdict(Step.REARM, look_at=look_at)


def _stalled(task: Task, beat_at: int | None, now: int) -> Verdict:
    late = now >= task.run_ends_at
    if not late and beat_at is not None and beat_at + task.limits.lease > now:
        return Verdict(Step.REVIVE)
    if now < task.since + task.limits.stall_grace and now < task.deadline_at:
        return Verdict(Step.REARM, look_at=task.since + task.limits.stall_grace)
    return Verdict(Step.RESCUE, error=_limit_error(task, now) if late else _LOST)


def _canceling(task: Task, beat_at: int | None, now: int) -> Verdict:
    alive = beat_at is not None and beat_at + task.limits.lease > now
    soft = task.cancel is not None and task.cancel.mode is CancelMode.SOFT
    if alive and soft and now < task.run_ends_at:
        # The run may go on; the clock stays close in case its worker dies.
        return Verdict(Step.SIGNAL, look_at=now + task.limits.cancel_grace)
    if alive and now < task.since + 2 * task.limits.cancel_grace:
        # One more grace for a worker that lives: its model is being killed right now.
        return Verdict(Step.SIGNAL, look_at=task.since + 2 * task.limits.cancel_grace)
    return Verdict(Step.STOP)


def _waiting(task: Task, now: int, held_at: int | None) -> Verdict:
    if now >= task.deadline_at:
        return Verdict(Step.EXPIRE, error=_limit_error(task, now))
    if task.state is State.PAUSED:
        return Verdict(Step.RESUME)
    ends_at = queue_ends_at(task, held_at)
    if task.state is not State.SCHEDULED and now >= ends_at:
        return Verdict(Step.EXPIRE, error=_QUEUE_TIMEOUT)
    if task.state in (State.QUEUED, State.RETRYING) and task.sent_at is not None:
        look_at = _held_until(task, now, held_at, ends_at)
        if look_at is not None:
            return Verdict(Step.REARM, look_at=look_at)
    return Verdict(Step.SEND)


def _held_until(task: Task, now: int, held_at: int | None, ends_at: int) -> int | None:
    """When to look again at a task that an operator's switch holds back, or held; else None.

    Its message is in the lane, where the switch keeps it: no other one helps. Afterwards it may be
    lost as any other may, and is sent again as often, but not before the lane had time to give it.
    """
    sent_at = task.sent_at or 0
    if held_at == now:
        return now + HELD_LOOK_MS
    if held_at is None or (held_at <= sent_at and now < task.queue_ends_at):
        return None
    spent = task.sends >= task.limits.max_redeliveries
    again_at = ends_at if spent else max(sent_at, held_at) + task.limits.redeliver_after
    return min(again_at, ends_at) if now < again_at else None


def _limit_error(task: Task, now: int) -> TaskError:
    if now >= task.deadline_at:
        return TaskError(
            ErrorCode.DEADLINE, "the task's whole-life limit has passed", ErrorClass.PERMANENT
        )
    seconds = task.limits.run_timeout // 1000
    return TaskError(
        ErrorCode.RUN_TIMEOUT, f"the run took longer than {seconds} s", ErrorClass.PERMANENT
    )


_LOST: Final = TaskError(
    ErrorCode.HEARTBEAT_LOST, "the worker stopped beating and did not come back", ErrorClass.CRASH
)
_QUEUE_TIMEOUT: Final = TaskError(
    ErrorCode.QUEUE_TIMEOUT, "no worker claimed it within its queue limit", ErrorClass.PERMANENT
)


class ClaimStep(StrEnum):
    """What a worker does with a message whose claim was refused."""

    DROP = "drop"
    HIDE = "hide"
    CLAIM_AGAIN = "claim_again"
    """The message is older than the task's present wait; the wait is real all the same."""
    TAKE_OVER = "take_over"


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The step, why, and for HIDE for how long (ms)."""

    step: ClaimStep
    reason: str
    hide_ms: int = 0


UNKNOWN_RETRIES: Final = 3
UNKNOWN_HIDE_MS: Final = 10_000


def judge_refusal(
    task: Task | None, beat_at: int | None, now: int, *, receives: int, lane: str | None = None
) -> ClaimVerdict:
    """Why the claim was refused, as the current task tells it; `lane` is where the message was."""
    if task is None:
        return _unknown(receives)
    if task.state.ended:
        return ClaimVerdict(ClaimStep.DROP, f"already {task.state}")
    match task.state:
        case State.PROCESSING | State.STALLED:
            return _held(task, beat_at, now)
        case State.CREATED | State.QUEUED | State.RETRYING if lane not in (None, task.lane):
            return ClaimVerdict(ClaimStep.DROP, f"it was moved to the lane {task.lane}")
        case State.CREATED | State.QUEUED | State.RETRYING:
            return _claimable(task, now)
        case _:
            return ClaimVerdict(ClaimStep.DROP, f"it is {task.state}")


def _unknown(receives: int) -> ClaimVerdict:
    if receives > UNKNOWN_RETRIES:
        return ClaimVerdict(ClaimStep.DROP, "no such task, and it did not appear")
    return ClaimVerdict(ClaimStep.HIDE, "no such task yet", UNKNOWN_HIDE_MS)


def _held(task: Task, beat_at: int | None, now: int) -> ClaimVerdict:
    if not silent(task, beat_at, now):
        rest = last_sign(task, beat_at) + task.limits.lease - now
        return ClaimVerdict(ClaimStep.HIDE, "a live worker holds it", rest)
    if now >= task.run_ends_at or not task.budgets.crashes.left:
        return ClaimVerdict(ClaimStep.DROP, "its worker is dead and it has no crash budget left")
    return ClaimVerdict(ClaimStep.TAKE_OVER, "its worker is dead")


def _claimable(task: Task, now: int) -> ClaimVerdict:
    if now >= task.deadline_at:
        return ClaimVerdict(ClaimStep.DROP, "its deadline has passed")
    if (task.not_before or 0) > now:
        return ClaimVerdict(ClaimStep.HIDE, "not yet due", (task.not_before or 0) - now)
    return ClaimVerdict(ClaimStep.CLAIM_AGAIN, "an older message of a task that waits")
