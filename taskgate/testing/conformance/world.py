"""A store under test, and what its suites put on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import IdempotencyKey, Ports, Pulse, Replay, Submission
from taskgate.salvage import Salvage
from taskgate.task import Owner, Task, TaskError
from taskgate.testing.factories import OWNER, stamp, task_in

ERROR = TaskError(
    ErrorCode.MODEL_ERROR, "the model said no: \u00e9\U0001f600\uffff", ErrorClass.TRANSIENT
)


@dataclass
class World:
    """A store under test and the owner that this test has to itself."""

    ports: Ports
    owner: Owner = OWNER
    clock_shards: int = 16

    def new(self, state: State = State.CREATED, **fields: Any) -> Task:
        """A task in `state`, on record, its ledger entry made."""
        task = task_in(state, at=self.ports.now(), owner=self.owner, **fields)
        assert self.submit(task) is None
        return task

    def submit(
        self,
        task: Task,
        *,
        key: IdempotencyKey | None = None,
        most: int = 1000,
        text: str = "{}",
        then: str | None = None,
        **more: Any,
    ) -> Replay | Salvage | None:
        submission = Submission(
            task=task, input=text, idempotency=key, max_pending=most, then=then, **more
        )
        return self.ports.tasks.create(submission)

    def key(self, name: str, mark: str = "m1", seconds: int = 3600) -> IdempotencyKey:
        return IdempotencyKey(name, mark, self.ports.now() // 1000 + seconds)

    def claim(self, task: Task, worker: str = "w1", attempt: int | None = None) -> Task:
        at = stamp(self.ports.now())
        expected = task.attempt if attempt is None else attempt
        return self.ports.tasks.apply(
            transitions.claim(task.id, expected, at, worker, task.limits.lease)
        )


def spent() -> Budgets:
    """Budgets of which one crash is spent."""
    return task_in(State.QUEUED).budgets.spend(ErrorClass.CRASH)


def pulse_of(task: Task, at: int, progress: float = 0.5) -> Pulse:
    """What the worker of the present attempt says of itself."""
    return Pulse(
        task_id=task.id,
        attempt=task.attempt,
        worker="w1",
        beat_at=at,
        progress=progress,
        stage="embed",
    )
