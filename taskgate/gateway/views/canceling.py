"""The handshake of a cancel, asked, seen, stopped: what the worker says of it, and who may know."""

from __future__ import annotations

from collections.abc import Callable

from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.views.stories import about
from taskgate.lifecycle.states import State
from taskgate.ports import Ports, Pulse, Seen, Signal
from taskgate.task import Task


def heard(ports: Ports, pulse: Pulse) -> Signal | None:
    """The signal to the pulse's attempt. That a cancel has come is told once, by one more call."""
    signal = pulse.signal
    if signal is None or signal.attempt != pulse.attempt:
        return None
    if signal.kind.startswith("cancel") and pulse.seen_at(signal.kind) is None:
        _acknowledge(ports, pulse.task_id, signal)
    return signal


def seen_at(ports: Ports, task: Task) -> Callable[[Task], int]:
    """When this worker had the word of a cancel: by its pulse, else now, when it acts on it.

    Of the task as it is when the end is written, since a soft cancel may have been made hard.
    """
    now, pulse = ports.now(), None
    try:
        pulse = ports.pulses.get(task.id)
    except Unavailable as error:
        swallowed("cancel_seen_when_stopped", error, task=task.id)
    return lambda t: (pulse and t.cancel and pulse.seen_at(f"cancel_{t.cancel.mode}")) or now


def seen(task: Task, pulse: Pulse | None) -> int | None:
    """When the worker had the word of the task's cancel, for those who look; None for not yet."""
    asked = task.cancel
    if asked is None:
        return None
    if asked.seen_at is not None:
        return asked.seen_at
    at = pulse.seen_at(f"cancel_{asked.mode}") if pulse else None
    return None if at is None else max(at, asked.at)


def told(task: Task, pulse: Pulse | None, now: int) -> str | None:
    """How far a cancel that is under way has come, in plain words."""
    if task.cancel is None or task.state is not State.CANCELING:
        return None
    at = seen(task, pulse)
    if at is None:
        return "Its worker has not had the word yet; it comes with the worker's next beat."
    return f"Its worker has had the word for {about(now - at)}."


def _acknowledge(ports: Ports, task_id: str, signal: Signal) -> None:
    try:
        ports.pulses.acknowledge(task_id, Seen(signal.kind, signal.attempt, ports.now()))
    except Unavailable as error:
        # The next beat brings the word again.
        swallowed("cancel_not_acknowledged", error, task=task_id)
