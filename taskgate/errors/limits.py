"""Not now: a limit is reached, or an operator has paused what is asked for."""

from __future__ import annotations

from taskgate.errors.problem import Problem


class TooManyPendingTasks(Problem):
    """You have as many unfinished tasks as your plan allows."""

    code, status, retry_after = "too_many_pending_tasks", 429, 10


class RateLimited(Problem):
    """You ask for this more often than you may."""

    code, status, retry_after = "rate_limited", 429, 1

    def __init__(self, message: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LaneFull(Problem):
    """So many tasks wait in this lane already that no more are taken for a while."""

    # 429 and not 503: nothing is broken, and nobody needs to be called.
    code, status, retry_after = "lane_full", 429, 30


class IntakePaused(Problem):
    """An operator has paused the intake: no task is accepted for now."""

    code, status, retry_after = "intake_paused", 503, 60

    def __init__(self, message: str | None = None, retry_after: int = 60) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TypePaused(IntakePaused):
    """An operator has paused this task type: no task of it is accepted for now."""

    code = "type_paused"
