"""What a lane carries, and how it is received."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from taskgate.task import Task
from taskgate.tracing import Trace, own, span_id


@dataclass(frozen=True, slots=True)
class Message:
    """What a lane carries: ids only, never anything that a user wrote."""

    task_id: str
    attempt: int
    """Claims so far when it was sent."""
    tenant: str = field(default="", compare=False)
    """Whose it is: the lane is shared fairly between tenants. Empty in those of before."""
    type: str = field(default="", compare=False)
    max_processing: int | None = field(default=None, compare=False)
    """So many of the tenant run at the same time, by the plan at submit."""
    given_trace: Trace | None = field(default=None, compare=False)
    """The trace of who asked for the task; it travels beside the body."""

    @property
    def trace_headers(self) -> Mapping[str, str]:
        """The task's trace, as of its submit."""
        trace = self.given_trace or own(self.task_id)
        return trace.headers(span_id(self.task_id, "submit"))

    @classmethod
    def of(cls, task: Task) -> Message:
        """The message of a task as it is now."""
        return cls(
            task.id,
            task.attempt,
            task.owner.tenant,
            task.type,
            task.max_processing,
            task.given_trace,
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """A received message. `receipt` is good until its visibility runs out."""

    message: Message
    lane: str
    receipt: str
    receives: int = 1
