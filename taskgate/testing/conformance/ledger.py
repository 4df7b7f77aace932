"""What every store must do with a ledger of several shards. Subclass it beside `StoreConformance`."""

from __future__ import annotations

import pytest

from taskgate.errors import TooManyPendingTasks
from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import GiveUp
from taskgate.lifecycle.states import State
from taskgate.ports import Ledger
from taskgate.shards import room_in
from taskgate.task import Task
from taskgate.testing.conformance.world import ERROR, World
from taskgate.testing.factories import stamp, task_in


def _in(world: World, shard: int, state: State = State.CREATED, *, most: int, shards: int) -> Task:
    """A task that is booked in a shard of the owner's ledger, within the limit."""
    task = task_in(state, at=world.ports.now(), owner=world.owner, ledger_shard=shard)
    assert world.submit(task, most=most, ledger_shards=shards) is None
    return task


class LedgerConformance:
    """Promises of `TaskStore` about ledgers of several shards."""

    @pytest.fixture
    def world(self) -> World:
        """The store under test, with an owner of its own."""
        raise NotImplementedError

    def test_the_rooms_of_the_shards_add_up_to_the_limit(self, world: World) -> None:
        for shard, room in enumerate((2, 2, 1)):
            for _ in range(room):
                _in(world, shard, most=5, shards=3)
            with pytest.raises(TooManyPendingTasks):
                _in(world, shard, most=5, shards=3)
        assert world.ports.tasks.pending(world.owner) == {0: 2, 1: 2, 2: 1}
        books = world.ports.tasks.ledger(world.owner)
        assert (books.submitted, len(books.active), books.balanced) == (5, 5, True)

    def test_a_shard_that_the_limit_does_not_reach_takes_none(self, world: World) -> None:
        _in(world, 0, most=1, shards=2)
        with pytest.raises(TooManyPendingTasks):
            _in(world, 1, most=1, shards=2)

    def test_nobody_has_books_before_the_first_submit(self, world: World) -> None:
        assert world.ports.tasks.pending(world.owner) == {}
        assert world.ports.tasks.ledger(world.owner) == Ledger()

    @pytest.mark.parametrize("shards", [1, 4])
    def test_a_task_ends_and_comes_back_in_the_shard_that_took_it_in(
        self, world: World, shards: int
    ) -> None:
        """`shards` of the plan by now: the task remembers its own."""
        _in(world, 1, most=8, shards=4)
        held = world.claim(_in(world, 2, State.QUEUED, most=8, shards=4))
        assert held.ledger_shard == 2
        fail = transitions.fail(held, stamp(held.since + 7), ERROR, GiveUp("no"))
        failed = world.ports.tasks.apply(fail)
        assert world.ports.tasks.pending(world.owner) == {1: 1, 2: 0}
        books = world.ports.tasks.ledger(world.owner)
        assert (books.failed, len(books.active), books.balanced) == (1, 1, True)
        room = max(1, room_in(8, shards, 2))
        again = transitions.reopen(failed, stamp(world.ports.now()), failed.budgets, room)
        world.ports.tasks.apply(again)
        assert world.ports.tasks.pending(world.owner) == {1: 1, 2: 1}
        assert world.ports.tasks.ledger(world.owner).balanced
