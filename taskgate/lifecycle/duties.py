"""What an end owes, decided in the write that ends the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from taskgate.lifecycle.states import HELD, State
from taskgate.task import CallbackState, Duty, Task

ANNOUNCED: Final[Mapping[State, str]] = {
    State.SUCCEEDED: "task.succeeded",
    State.FAILED: "task.failed",
    State.TIMED_OUT: "task.timed_out",
    State.CANCELED: "task.canceled",
}
"""The event that tells of each end."""


def owed_by(task: Task, to: State, at: int, kept_until: int | None) -> dict[str, Any]:
    """What the change makes the task owe: in the same write, and only for an end."""
    if not to.ended:
        return {"owes": (), "owed_at": None} if task.state.ended else {}
    sets: dict[str, Any] = {}
    told = task.callback is not None and ANNOUNCED[to] in task.callback.events
    if told and task.callback and task.generation:
        # It was reopened and ends anew: how its first end was told of says nothing of this one.
        sets["callback"] = replace(task.callback, state=CallbackState.PENDING, schedule=0)
    stopped = to is State.CANCELED and task.state in HELD and kept_until is None
    owing = {
        Duty.FOLLOW_UPS: task.follow_ups > 0,
        # Refused attempts may have left files behind, and so may one that was stopped.
        Duty.CLEAN_UP: task.attempt > 1 or stopped,
        Duty.CALLBACK: told,
        Duty.SALVAGE: kept_until is not None,
    }
    owes = tuple(duty for duty, is_owed in owing.items() if is_owed)
    if not owes:
        return sets
    owed_at = kept_until if owes == (Duty.SALVAGE,) else at
    return {**sets, "owes": owes, "owed_at": owed_at}
