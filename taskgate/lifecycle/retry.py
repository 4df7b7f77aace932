"""The retry decision: (error, budgets, policy, draw) → `RetryAt` or `GiveUp`. Pure.

Three budgets are spent apart (DESIGN section 2): `retries` by transient errors, `crashes` by lost
workers and children, `interruptions` by drains and Spot losses. A hand-back is never an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from taskgate.errors import BadSetting


class ErrorClass(StrEnum):
    """What an error says about trying again."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    CRASH = "crash"
    INTERRUPTION = "interruption"


class ErrorCode(StrEnum):
    """Why a task ended badly, or had to run again. Stable; clients may switch on it."""

    QUEUE_TIMEOUT = "queue_timeout"
    RUN_TIMEOUT = "run_timeout"
    DEADLINE = "deadline"
    HEARTBEAT_LOST = "heartbeat_lost"
    WORKER_CRASHED = "worker_crashed"
    OUT_OF_MEMORY = "out_of_memory"
    STARTUP_FAILED = "startup_failed"
    INVALID_INPUT = "invalid_input"
    INPUT_LOST = "input_lost"
    MODEL_ERROR = "model_error"
    UPSTREAM_ERROR = "upstream_error"
    QUOTA_EXHAUSTED = "quota_exhausted"
    CONTENT_REJECTED = "content_rejected"
    POISON = "poison"
    CANCELED_BY_USER = "canceled_by_user"
    CANCELED_BY_OPERATOR = "canceled_by_operator"


@dataclass(frozen=True, slots=True)
class Budget:
    """How often something may happen to a task, and how often it has."""

    limit: int
    spent: int = 0

    @property
    def left(self) -> int:
        return max(0, self.limit - self.spent)

    def spend(self) -> Budget:
        return Budget(self.limit, self.spent + 1)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The three budgets of a task."""

    retries: Budget = Budget(3)
    crashes: Budget = Budget(2)
    interruptions: Budget = Budget(20)

    def spend(self, error_class: ErrorClass) -> Budgets:
        """One more of this class; a permanent error spends nothing, since it ends the task."""
        match error_class:
            case ErrorClass.TRANSIENT:
                return Budgets(self.retries.spend(), self.crashes, self.interruptions)
            case ErrorClass.CRASH:
                return Budgets(self.retries, self.crashes.spend(), self.interruptions)
            case ErrorClass.INTERRUPTION:
                return Budgets(self.retries, self.crashes, self.interruptions.spend())
            case ErrorClass.PERMANENT:
                return self

    def of(self, error_class: ErrorClass) -> Budget:
        """The budget that an error of this class is paid from."""
        match error_class:
            case ErrorClass.TRANSIENT:
                return self.retries
            case ErrorClass.CRASH:
                return self.crashes
            case ErrorClass.INTERRUPTION:
                return self.interruptions
            case ErrorClass.PERMANENT:
                return Budget(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Per task type. Delays are seconds; exponential with full jitter."""

    retries: int = 3
    crashes: int = 2
    interruptions: int = 20
    base: float = 2.0
    factor: float = 2.0
    cap: float = 300.0
    per_second: float = 2.0
    """Retries of the whole type that may start in a second, over all its tasks: an outage of the
    model must not become a storm when it ends."""
    burst: int = 20
    """Retries of the type that may start at once before that rate counts."""

    def __post_init__(self) -> None:
        for name in ("retries", "crashes", "interruptions"):
            if not 0 <= getattr(self, name) <= 100:
                # History grows with each attempt: this bound keeps the item savable.
                raise BadSetting(f"retry.{name}", getattr(self, name), "0 to 100")

    def budgets(self) -> Budgets:
        """The unspent budgets of a new task."""
        return Budgets(Budget(self.retries), Budget(self.crashes), Budget(self.interruptions))


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again, not before this time (epoch ms)."""

    not_before: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again, and why."""

    reason: str


def decide(
    error_class: ErrorClass,
    budgets: Budgets,
    policy: RetryPolicy,
    *,
    now: int,
    deadline_at: int,
    draw: float,
    retry_after: float | None = None,
) -> RetryAt | GiveUp:
    """Whether and when to try again. `now`, `deadline_at` are epoch ms; `draw` is in [0, 1)."""
    if error_class is ErrorClass.PERMANENT:
        return GiveUp("a permanent error is not retried")
    budget = budgets.of(error_class)
    if budget.left == 0:
        return GiveUp(f"{error_class} budget spent ({budget.limit})")
    delay = _delay(budget.spent, policy, draw, retry_after)
    not_before = now + round(delay * 1000)
    if not_before >= deadline_at:
        return GiveUp("the next try would start after the deadline")
    return RetryAt(not_before)


def _delay(spent: int, policy: RetryPolicy, draw: float, retry_after: float | None) -> float:
    ceiling = min(policy.cap, policy.base * policy.factor**spent)
    # Full jitter on top of what the upstream asked for: never earlier than it said.
    return (retry_after or 0.0) + ceiling * draw
