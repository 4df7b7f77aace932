"""A small world, walked completely: one task, two workers, a sweep, a cancel, a move to another
lane, SQS at its worst.

An actor may die between any two of its steps. The life cycle is the real one: `transitions`, `judge`
and `judge_refusal` decide; the model only holds what the outside world remembers.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.small.people import cancel, move, submit
from tests.simulation.small.sweep import sweep
from tests.simulation.small.workers import queue, work
from tests.simulation.small.world import World, tick


def steps(w: World) -> Iterator[tuple[str, World]]:
    """Every state that one atomic step of any actor leads to, with its name."""
    yield from submit(w)
    if w.task is None:
        return
    yield from cancel(w, w.task)
    yield from move(w, w.task)
    yield from sweep(w, w.task)
    for i in range(len(w.workers)):
        yield from work(w, i)
    yield from queue(w)
    yield "tick", tick(w)
