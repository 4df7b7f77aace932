"""Why a task is in its state, and what it waits for: one story a state, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from taskgate.lifecycle.states import State
from taskgate.switches import Kind, Switch
from taskgate.task import CancelMode, Task

Story = tuple[str, str | None]
"""Why, and what it waits for."""


def about(ms: int) -> str:
    """A span of time in one unit, for people."""
    seconds = max(0, round(ms / 1000))
    for unit, length, up_to in (("s", 1, 90), ("min", 60, 90 * 60), ("h", 3600, 48 * 3600)):
        if seconds <= up_to:
            return f"about {round(seconds / length)} {unit}"
    return f"about {round(seconds / 86_400)} days"


def _scheduled(task: Task, now: int) -> Story:
    ahead = (task.run_at or task.since) - now
    when = f"in {about(ahead)}" if ahead > 0 else "now"
    return f"It is scheduled: its caller wants it to start {when}.", "its time"


def _created(task: Task, now: int) -> Story:
    del task, now
    return (
        "It is on record; that its message is in the lane is not known yet.",
        "its message to be sent, again if need be, and then a worker",
    )


def _queued(task: Task, now: int) -> Story:
    waited = about(now - (task.queued_at or task.since))
    return f"It has been in lane {task.lane} for {waited}.", "a free worker of that lane"


def _processing(task: Task, now: int) -> Story:
    running = about(now - (task.started_at or task.since))
    return f"Attempt {task.attempt} has been running for {running}.", "its worker to finish"


def _stalled(task: Task, now: int) -> Story:
    why = task.history[-1].reason if task.history else ""
    text = f"Attempt {task.attempt} is suspected to be lost ({why or 'no sign of life'})"
    suspected = about(now - task.since)
    return f"{text}, for {suspected} now.", "its worker, its owner or an operator"


def _paused(task: Task, now: int) -> Story:
    del now
    if task.resume_at is not None:
        return "Its worker handed it back before it left.", "the next look, which lets it go on"
    by = task.history[-1].actor if task.history else "an operator"
    return f"It is held back by {by}.", "an operator to resume it"


def _retrying(task: Task, now: int) -> Story:
    said = f": {task.error.code}" if task.error else ""
    ahead = (task.not_before or 0) - now
    due = f"the time of its next try, in {about(ahead)}" if ahead > 0 else "a free worker"
    return f"Attempt {task.attempt} did not succeed{said}.", due


def _canceling(task: Task, now: int) -> Story:
    mode = task.cancel.mode if task.cancel else CancelMode.HARD
    asked = about(now - (task.cancel.at if task.cancel else task.since))
    waits_for = "its run to end" if mode is CancelMode.SOFT else "its worker to stop"
    return f"A {mode} cancel was asked for {asked} ago.", waits_for


def _ended(task: Task, now: int) -> Story:
    ago = about(now - (task.ended_at or task.since))
    error = f": {task.error.code}: {task.error.message}" if task.error else ""
    return f"It ended as {task.state} {ago} ago{error}.", None


def named(switch: Switch) -> str:
    return f"the {'lane' if switch.kind is Kind.LANE else 'type'} {switch.name}"


def held_back(switch: Switch | None, now: int) -> str | None:
    if switch is None:
        return None
    kind, ago = named(switch), about(now - switch.since)
    return f"T{kind[1:]} is paused by {switch.by}, for {ago} now: {switch.reason}."


STORIES: Final[Mapping[State, Callable[[Task, int], Story]]] = {
    State.SCHEDULED: _scheduled,
    State.CREATED: _created,
    State.QUEUED: _queued,
    State.PROCESSING: _processing,
    State.STALLED: _stalled,
    State.PAUSED: _paused,
    State.RETRYING: _retrying,
    State.CANCELING: _canceling,
    State.SUCCEEDED: _ended,
    State.FAILED: _ended,
    State.TIMED_OUT: _ended,
    State.CANCELED: _ended,
}
