"""Worlds in which everything goes wrong, by seed. `make simulate SEEDS=1000` plays more."""

from __future__ import annotations

import os

import pytest

from taskgate.gateway.announcing import message_id
from taskgate.gateway.outbox.delivering import SCHEDULE
from taskgate.lifecycle import clock
from taskgate.lifecycle.states import Verb
from taskgate.task import CallbackState
from tests.simulation.world import Odds, Simulation

SEEDS = range(int(os.environ.get("TASKGATE_FIRST_SEED", "1")),
              int(os.environ.get("TASKGATE_FIRST_SEED", "1"))
              + int(os.environ.get("TASKGATE_SEEDS", "8")))  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_is_lost_or_doubled_whatever_goes_wrong(seed: int) -> None:
    played = Simulation(seed).run()
    print(f"seed {seed}: {dict(played.by_state())} {dict(played.happened)}")  # noqa: T201
    assert len(played.accepted) > 150
    assert played.lost == []
    assert played.doubled == []
    assert played.meddlers.unfair == []
    for (owner, _), books in played.world.tasks.books.items():
        assert books.balanced, owner
        assert books.active == frozenset(), owner
    for task in played.world.tasks.tasks.values():
        assert task.state.ended
        assert task.due_at is clock.due(task) is None
        assert task.history[-1].to is task.state or task.history[-1].reason.startswith("refused")
        if task.callback is not None:
            told = played.delivered[message_id(task)]
            delivered = task.callback.state is CallbackState.DELIVERED
            again = any(entry.verb is Verb.REDELIVER for entry in task.history)
            assert told >= delivered, task
            # One that arrived and was not put on record is tried again, to the end of its schedule.
            tried_out = task.callback.tries >= len(SCHEDULE)
            assert delivered or again or tried_out or not told, task
    assert played.world.lanes.total() == 0
    given = [t.reused_from for t in played.world.tasks.tasks.values() if t.reused_from]
    assert len(given) == len(set(given)), "a kept result was given twice"
    for source in given:
        assert played.world.tasks.tasks[source].salvaged


def test_soft_cancels_leave_results_that_later_submits_are_given() -> None:
    played = [Simulation(seed, odds=Odds(cancel=0.4)).run() for seed in range(11, 17)]
    assert sum(p.happened["submit reused"] for p in played) >= 3


def test_people_meddle_in_these_worlds_in_every_way() -> None:
    """A world in which nothing of this happens would prove nothing of it."""
    pauses = ("pause lane", "pause type", "pause intake", "resume", "queue timeout")
    bulks = ("bulk cancel", "bulk reopen", "bulk redeliver")
    missing = {*pauses, *bulks, "prioritize", "reopen", "upload vanished", "submit reused"}
    for seed in range(21, 41):
        happened = Simulation(seed).run().happened
        missing = {what for what in missing if not happened[what]}
        if not missing:
            break
    assert missing == set()


def test_a_seed_plays_the_same_world_again() -> None:
    first, again = Simulation(7, tasks=60).run(), Simulation(7, tasks=60).run()
    assert first.happened == again.happened
    assert first.clock() == again.clock()
    assert first.by_state() == again.by_state()
