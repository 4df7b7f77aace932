"""Every interleaving of a small world keeps the promise. `make model` prints the figures."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp
from taskgate.lifecycle.states import State
from taskgate.task import CancelMode, Task
from tests.simulation.small import sweep as sweeps
from tests.simulation.small import workers
from tests.simulation.small.likeness import alike
from tests.simulation.small.model import steps
from tests.simulation.small.sweep import sweep_whole
from tests.simulation.small.world import (
    LEASE,
    LIMITS,
    STAMP,
    TICK,
    Broken,
    Worker,
    World,
    tick,
)

LONGEST = 40
"""Ticks within which any task must have ended once only the sweep moves."""


def check(w: World, before: World | None) -> None:
    """The invariants of one state, and of the step that led to it."""
    task = w.task
    if task is None:
        return
    submitted, active, ended = w.books
    if submitted != active + ended or active != (not task.state.ended):
        raise Broken(f"the ledger does not add up: {w.books} {task.state}")
    if w.results > 1 or (w.results == 1) != (task.state is State.SUCCEEDED):
        raise Broken(f"{w.results} results count, and the task is {task.state}")
    if w.kept > 1 or (w.kept == 1 and (task.state is not State.CANCELED or not _soft(task))):
        raise Broken(f"{w.kept} results are kept of a task that is {task.state}")
    if task.state.ended:
        _settled(task)
    elif task.due_at is None or task.due_at > task.deadline_at + LEASE * TICK:
        raise Broken(f"an unfinished task has no clock in time: {task.state} {task.due_at}")
    if before is not None and before.task is not None and before.task.state.ended:
        assert task.state is before.task.state, "an ended state was left"


def _settled(task: Task) -> None:
    if (task.due_at is None) != (not task.owes):
        raise Broken("a settled task has a clock, or one that owes has none")
    claim = transitions.claim(task.id, task.attempt, STAMP, "w", LIMITS.lease, task.lane)
    if claim.guard.admits(task):
        raise Broken("a message is good for a claim of an ended task")


def _soft(task: Task) -> bool:
    return task.cancel is not None and task.cancel.mode is CancelMode.SOFT


def ends(w: World) -> bool:
    """Whether the sweep alone brings the task to its end, all workers and messages gone."""
    w = World(record=w.record, pulse=w.pulse, books=w.books, api="done", canceler="done")
    for _ in range(LONGEST):
        if w.task is None or w.task.state.ended:
            return True
        w = tick(sweep_whole(w))
    return False


def walk(start: World) -> tuple[int, int]:
    """Visit every reachable state; returns how many there are that differ, and how many steps."""
    seen, queue, taken = {start}, deque([start]), 0
    ending: dict[object, bool] = {}
    while queue:
        w = queue.popleft()
        for name, stepped in steps(w):
            taken += 1
            after = alike(stepped)
            if after in seen:
                continue
            check(stepped, w)
            left = (after.record, after.pulse)
            if left not in ending and not ending.setdefault(left, ends(after)):
                raise Broken(f"after {name!r} the sweep alone does not end it: {after}")
            seen.add(after)
            queue.append(after)
    return len(seen), taken


ONE = (Worker(),)
OFF = "done"
WORLDS = {
    "two workers": World(canceler=OFF),
    "one worker, a cancel": World(workers=ONE),
    "one worker, a soft cancel": World(workers=ONE, cancels=(CancelMode.SOFT,)),
    "one worker, a move": World(workers=ONE, canceler=OFF, mover="move"),
    "one worker, a retry, a drain": World(workers=ONE, canceler=OFF, budgets=(1, 1, 1)),
}
"""Walked in every test run."""
MORE_WORLDS = {
    "two workers, a message shown again": World(canceler=OFF, copies=1),
    "two workers, a death at any step": World(canceler=OFF, deaths=1),
    "two workers, a cancel": World(),
    "one worker, a soft cancel made hard": World(
        workers=ONE, cancels=(CancelMode.SOFT, CancelMode.HARD)
    ),
    "one worker, a retry, a move": World(
        workers=ONE, canceler=OFF, mover="move", budgets=(1, 1, 0)
    ),
    "one worker, a drain, a move": World(
        workers=ONE, canceler=OFF, mover="move", budgets=(0, 1, 1)
    ),
    "one worker, a move, a cancel": World(workers=ONE, mover="move"),
    "one worker, a move, a death at any step": World(
        workers=ONE, canceler=OFF, mover="move", deaths=1
    ),
    "one worker, a cancel, a death at any step": World(workers=ONE, deaths=1),
    "one worker, a cancel, a message shown again": World(workers=ONE, copies=1),
}
"""Minutes each: walked by `make model`."""


@pytest.mark.parametrize("name", [*WORLDS, *MORE_WORLDS])
def test_every_interleaving_keeps_the_promise(name: str) -> None:
    if name in MORE_WORLDS and not os.environ.get("TASKGATE_WHOLE_MODEL"):
        pytest.skip("walked by `make model`")
    states, taken = walk({**WORLDS, **MORE_WORLDS}[name])
    print(f"model, {name}: {states} states, {taken} steps, 7 invariants held")  # noqa: T201
    assert states > 1_000


@pytest.mark.parametrize("name", [*WORLDS, *MORE_WORLDS])
def test_what_is_alike_goes_on_alike(name: str) -> None:
    """States of which one stands for the other lead by the same steps to states that are alike."""
    for w in strolls(name, 40):
        one = alike(w)
        assert alike(one) == one
        if w.task is not None and w.task.state.ended:
            assert {after.record for _, after in steps(w)} == {w.record}
            continue
        there, here = ({alike(after) for _, after in steps(x)} | {one} for x in (w, one))
        assert there == here


def _hasty(task: Task, stamp: Stamp, worker: str) -> Change:
    change = transitions.take_over(task, stamp, worker)
    return replace(change, guard=replace(change.guard, pulse=None))


def _lane_blind(*given: Any) -> Change:
    change = transitions.claim(*given)
    return replace(change, guard=replace(change.guard, lane=None))


def _forgetful(task: Task, *given: Any, **more: Any) -> Change:
    change = transitions.stopped(task, *given, **more)
    return replace(change, ledger=None)


@pytest.mark.parametrize(
    ("name", "verb", "broken", "says"),
    [
        ("two workers", "take_over", _hasty, "a live worker's task was taken"),
        ("one worker, a move", "claim", _lane_blind, "a lane that the task had left"),
        ("one worker, a cancel", "stopped", _forgetful, "the ledger does not add up"),
    ],
)
def test_a_life_cycle_that_is_broken_is_seen(
    name: str, verb: str, broken: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs = SimpleNamespace(**{known: getattr(transitions, known) for known in transitions.__all__})
    setattr(verbs, verb, broken)
    monkeypatch.setattr(workers, "transitions", verbs)
    monkeypatch.setattr(sweeps, "transitions", verbs)
    with pytest.raises(Broken, match=says):
        walk(WORLDS[name])


def strolls(name: str, count: int) -> Iterator[World]:
    """States on random ways through a world, each as it was reached, none of them simplified."""
    rng = random.Random(name)
    for _ in range(count):
        w = {**WORLDS, **MORE_WORLDS}[name]
        for _ in range(80):
            yield w
            w = rng.choice([after for _, after in steps(w)])
