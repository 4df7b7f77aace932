"""A task's relations: what follows it, and how the chain of all that follows stands.

A child's id is derived from its parent's, so nobody has to look for it. There is none before the
parent has ended; one that was given another life may have some from before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from taskgate.gateway.outbox.following import child_id
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.task import Task


class ChainState(StrEnum):
    """How a task and all that follows it stand together."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Child:
    """A follow-up; without a task it is yet to be put on record."""

    id: str
    task: Task | None


@dataclass(frozen=True, slots=True)
class Relations:
    """What follows a task, and the state of the whole; no chain when nothing follows."""

    children: tuple[Child, ...] = ()
    chain: ChainState | None = None


def relations(ports: Ports, task: Task) -> Relations:
    """No call when nothing follows or the task lives its first life; else 1 for each level."""
    if not task.follow_ups:
        return Relations()
    levels = list(_levels(ports, task))
    return Relations(tuple(levels[0]), _state([task, *(c.task for level in levels for c in level)]))


def sentence(task: Task, found: Relations) -> str | None:
    """How what follows it stands, in plain words; None while nothing of it is on record."""
    states = Counter(child.task.state for child in found.children if child.task)
    if not states:
        return None
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    told = f"What follows it: {counts}."
    if task.generation and states[State.CANCELED]:
        told += " What was canceled with an earlier end stays so, whatever becomes of it now."
    return told


def _levels(ports: Ports, task: Task) -> Iterator[list[Child]]:
    above = [task]
    while ids := [child_id(t.id, n) for t in above for n in range(t.follow_ups)]:
        # What follows a task that has never ended cannot be on record.
        known = ports.tasks.get_many(ids) if any(map(_has_ended, above)) else {}
        yield [Child(i, known.get(i)) for i in ids]
        above = list(known.values())


def _has_ended(task: Task) -> bool:
    return task.state.ended or task.generation > 0


def _state(tasks: Iterable[Task | None]) -> ChainState:
    states = {task.state if task else None for task in tasks}
    if any(state is None or not state.ended for state in states):
        return ChainState.RUNNING
    if states == {State.SUCCEEDED}:
        return ChainState.SUCCEEDED
    return ChainState.FAILED if states & {State.FAILED, State.TIMED_OUT} else ChainState.CANCELED
