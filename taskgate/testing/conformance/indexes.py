"""The clock, the owed and the problem index show what they should, and nothing else."""

from __future__ import annotations

import time
from typing import Any

import pytest

from taskgate.lifecycle import owing, transitions
from taskgate.lifecycle.retry import GiveUp
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import Problem
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import Callback, Duty, Task, Tried
from taskgate.testing.conformance.world import ERROR, World, spent
from taskgate.testing.factories import stamp


class IndexesConformance:
    """The clock, the owed and the problem index show what they should, and nothing else."""

    def test_the_clock_index_shows_what_is_due_oldest_first(self, world: World) -> None:
        now = world.ports.now()
        made = [world.new(State.QUEUED, due_at=now - age) for age in (1_000, 3_000, 2_000)]
        later = world.new(State.QUEUED, due_at=now + 60_000)
        found = {d.task_id: d.due_at for d in self._due(world, now)}
        assert {t.id: t.due_at for t in made}.items() <= found.items()
        assert later.id not in found

    def test_the_clock_index_pages_to_the_end(self, world: World) -> None:
        now = world.ports.now()
        made = {world.new(State.QUEUED, due_at=now - i).id for i in range(1, 12)}
        assert made <= {d.task_id for d in self._due(world, now, limit=1)}

    def test_an_ended_task_leaves_the_clock_index(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.tasks.apply(transitions.succeed(held, stamp(world.ports.now()), Outcome()))
        far = world.ports.now() + 10**9
        assert held.id not in {d.task_id for d in self._due(world, far)}

    @pytest.mark.parametrize("detail", ["", "self-signed é"])
    def test_an_ended_task_that_owes_stands_in_the_owed_index_until_it_is_settled(
        self, world: World, detail: str
    ) -> None:
        hook = Callback("https://a.example/h", ("task.succeeded",))
        held = world.claim(world.new(State.QUEUED, callback=hook))
        ended = world.ports.tasks.apply(
            transitions.succeed(held, stamp(world.ports.now() - 5), Outcome())
        )
        assert (ended.owes, ended.due_at) == ((Duty.CALLBACK,), ended.ended_at)
        assert held.id in self._owed(world)
        assert held.id not in {d.task_id for d in self._due(world, world.ports.now())}
        begun = world.ports.tasks.apply(owing.begun(ended, stamp(world.ports.now())))
        assert held.id not in self._owed(world)
        tried = Tried(world.ports.now(), 200, 12, "ok", detail)
        done = world.ports.tasks.apply(owing.delivered(begun, stamp(world.ports.now()), tried))
        assert world.ports.tasks.get(held.id) == done
        assert (done.owes, done.due_at) == ((), None)
        assert done.callback is not None
        assert done.callback.latest == (tried,)
        assert world.ports.tasks.ledger(world.owner).balanced

    def test_the_problem_index_shows_what_ended_badly_latest_first(self, world: World) -> None:
        made = [self._failed(world, at) for at in (1_000, 3_000, 2_000)]
        succeeded = world.claim(world.new(State.QUEUED))
        world.ports.tasks.apply(transitions.succeed(succeeded, stamp(world.ports.now()), Outcome()))
        found = self._problems(world, made[0], limit=1)
        mine = [task_id for task_id in found if task_id in {t.id for t in made}]
        assert mine == [t.id for t in sorted(made, key=_ended_at, reverse=True)]
        assert succeeded.id not in found

    def test_a_reopened_task_leaves_the_problem_index(self, world: World) -> None:
        failed = self._failed(world, 1_000)
        at = stamp(world.ports.now())
        world.ports.tasks.apply(transitions.reopen(failed, at, spent()))
        assert failed.id not in self._problems(world, failed)

    def _failed(self, world: World, after: int) -> Task:
        held = world.claim(world.new(State.QUEUED))
        at = stamp(held.since + after)
        return world.ports.tasks.apply(transitions.fail(held, at, ERROR, GiveUp("no")))

    def _problems(self, world: World, of: Task, limit: int = 50) -> list[str]:
        day = time.strftime("%Y-%m-%d", time.gmtime(_ended_at(of) / 1000))
        rows: list[Problem] = []
        for shard in range(PROBLEM_SHARDS):
            start: str | None = None
            while True:
                page = world.ports.tasks.problems(day, shard, limit, start)
                rows += page.rows
                start = page.next
                if start is None:
                    break
        return [r.task_id for r in sorted(rows, key=lambda r: r.ended_at, reverse=True)]

    def _owed(self, world: World) -> set[str]:
        now = world.ports.now()
        pages = (world.ports.tasks.owed(s, now, 100) for s in range(world.clock_shards))
        return {d.task_id for page in pages for d in page.rows}

    def _due(self, world: World, until: int, limit: int = 50) -> list[Any]:
        found: list[Any] = []
        for shard in range(world.clock_shards):
            start: str | None = None
            rows: list[Any] = []
            while True:
                page = world.ports.tasks.due(shard, until, limit, start)
                rows += page.rows
                start = page.next
                if start is None:
                    break
            assert all(shard_of(d.task_id, world.clock_shards) == shard for d in rows)
            assert [d.due_at for d in rows] == sorted(d.due_at for d in rows)
            found += rows
        return found


def _ended_at(task: Task) -> int:
    assert task.ended_at is not None
    return task.ended_at
