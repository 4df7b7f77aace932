"""What a write or a read of the records may meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskgate.errors.base import TaskgateError

if TYPE_CHECKING:
    from taskgate.task import Task


class Refused(TaskgateError):
    """The guarded write was refused: the task is no longer what the change demands."""

    def __init__(self, current: Task | None, message: str | None = None) -> None:
        super().__init__(message)
        self.current = current
        """The task as the store holds it, or None when there is none."""


class LeaseLost(Refused):
    """This attempt no longer holds the task; stop, and write nothing more."""


class IllegalTransition(TaskgateError):
    """The state does not know this verb."""

    def __init__(self, verb: str, state: str) -> None:
        super().__init__(f"A task that is {state} cannot {verb.replace('_', ' ')}.")
        self.verb, self.state = verb, state


class IdTaken(TaskgateError):
    """There is a record of this id already; nothing was written."""


class Unavailable(TaskgateError):
    """The store is busy or out of reach; nothing is known to have changed. Try again."""
