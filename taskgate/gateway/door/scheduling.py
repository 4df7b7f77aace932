"""When a task starts: at once, at a time, or after a delay; and moving that while it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate.errors import FieldProblem, InvalidRequest, Unavailable, VerbNotAllowed
from taskgate.events import swallowed
from taskgate.gateway.door.uploaded import require_kept
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.operating import INPUT_GONE
from taskgate.gateway.steer.steering import changed
from taskgate.gateway.views.reading import visible
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.states import State
from taskgate.ports import Message, Ports
from taskgate.principal import Principal
from taskgate.task import Task

MAX_AHEAD_DAYS: Final = 90
MAX_AHEAD_SECONDS: Final = MAX_AHEAD_DAYS * 24 * 3600
ONE_SECOND: Final = 1000
"""Delays are whole seconds: two that come to the same time, but for the clock's ticks, are one."""


@dataclass(frozen=True, slots=True)
class Start:
    """When to start, as it was asked for: `run_at` in epoch ms, or `delay` in seconds."""

    run_at: int | None = None
    delay: int | None = None

    @property
    def field(self) -> str:
        """The field of the request that says when it starts; the input, when none does."""
        if self.delay is not None:
            return "delay"
        return "input" if self.run_at is None else "run_at"

    def at(self, now: int) -> int:
        """The moment (epoch ms), which may be past; `InvalidRequest` when it is too far ahead."""
        if self.delay is not None:
            return now + self.delay * 1000
        if self.run_at is None:
            return now
        if self.run_at > now + MAX_AHEAD_SECONDS * 1000:
            raise InvalidRequest(
                fields=[FieldProblem("run_at", f"at most {MAX_AHEAD_DAYS} days ahead")]
            )
        return self.run_at

    def means(self, run_at: int | None, at: int) -> bool:
        """Whether a task that was moved at that moment, to this time, was moved by the same request."""
        wanted = self.run_at if self.delay is None else at + self.delay * 1000
        if wanted is None or run_at is None:
            return False
        return abs(wanted - run_at) < ONE_SECOND


AT_ONCE: Final = Start()


def reschedule(ports: Ports, who: Principal, task_id: str, start: Start, reason: str = "") -> Task:
    """Move a task that has not been woken yet; one moved to now goes to its lane at once."""
    who.require("tasks:write")
    task = visible(ports.tasks.get(task_id), who)
    run_at = start.at(ports.now())

    def change(current: Task) -> Change:
        made = stamp(ports.now(), who.actor_for(current.owner), reason)
        moved = transitions.reschedule(current, made, run_at)
        deadline_at = max(run_at, made.at) + current.limits.deadline
        require_kept(current, deadline_at, start.field)
        # It goes with the time that the task had to live at its submit, which ends sooner now.
        if deadline_at > current.deadline_at and not ports.tasks.keep_input(current, deadline_at):
            raise VerbNotAllowed(INPUT_GONE, current.state)
        return moved

    after = changed(ports, task, change)
    if after.state is State.QUEUED:
        _send(ports, after)
    return after


def _send(ports: Ports, task: Task) -> None:
    try:
        ports.lanes.send(task.lane, Message.of(task))
    except Unavailable as error:
        swallowed("send_left_to_sweep", error, task=task.id)
