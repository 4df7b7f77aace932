"""How long an attempt may take, and how a run gets more time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu_worker.heart import Heart
from gpu_worker.protocol import TimeLeft
from taskgate.gateway.work.worker import Failure
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.ports import Now

LEAST_EXTENSION: Final = 30.0
"""Seconds. A run that asks for a second in each step costs a write each half minute, no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Lengths in seconds; the run's own end stands on the task, and may move."""

    startup: float
    kill_grace: float


class RunTime:
    """The time of one run: asked for by the run, moved by people, kept on the task."""

    def __init__(self, number: int, heart: Heart, now: Now) -> None:
        self._number, self._heart, self._now = number, heart, now
        self._told, self._asked = heart.held.task.run_ends_at, False

    @property
    def left(self) -> float:
        """Seconds until the run must be over."""
        return (self._heart.held.task.run_ends_at - self._now()) / 1000

    def ask(self, seconds: float) -> None:
        """The run wants at least `seconds` from now; `news` brings the answer."""
        self._asked = True
        short = seconds - self.left
        if short > 0 and self._may_grow():
            self._heart.extend(max(short, seconds / 10, LEAST_EXTENSION))

    def news(self) -> TimeLeft | None:
        """What the child must be told: an answer, or that somebody moved the limits."""
        answers = self._asked and not self._heart.extending
        ends_at = self._heart.held.task.run_ends_at
        if not answers and ends_at == self._told:
            return None
        self._told, self._asked = ends_at, self._asked and not answers
        return TimeLeft(self._number, self.left, answers)

    def over(self) -> Failure | None:
        """Why the run must end, once its time is over."""
        if self.left > 0 or self._heart.extending:
            return None
        # Its owner may have extended it since the last beat.
        self._heart.refresh()
        if self.left > 0 or self._heart.lost:
            return None
        deadline = self._now() >= self._heart.held.task.deadline_at
        return _DEADLINE if deadline else _RUN_TIMEOUT

    def _may_grow(self) -> bool:
        task = self._heart.held.task
        return task.limits.run_timeout < task.limits.max_run and task.run_ends_at < task.deadline_at


def startup_timeout(seconds: float) -> Failure:
    """The runner's `setup` did not come to an end."""
    return Failure(
        ErrorCode.STARTUP_FAILED,
        f"the model was not ready within {seconds:g} s",
        ErrorClass.TRANSIENT,
    )


_RUN_TIMEOUT: Final = Failure(
    ErrorCode.RUN_TIMEOUT, "the run took longer than its limit", ErrorClass.PERMANENT
)
_DEADLINE: Final = Failure(
    ErrorCode.DEADLINE, "the task's whole time was over during the run", ErrorClass.PERMANENT
)
