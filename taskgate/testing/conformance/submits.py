"""A submit is one write, and the same submit twice is one task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.lifecycle.states import ENDED, State
from taskgate.ports import Replay
from taskgate.task import Owner
from taskgate.testing.conformance.world import World
from taskgate.testing.factories import task_in


class SubmitsConformance:
    """A submit is one write, and the same submit twice is one task."""

    def test_a_submit_enters_the_ledger_in_the_same_write(self, world: World) -> None:
        task = world.new()
        books = world.ports.tasks.ledger(world.owner)
        assert books.active == {task.id}
        assert (books.submitted, books.balanced) == (1, True)

    @pytest.mark.parametrize("state", sorted(ENDED))
    def test_a_task_that_ends_as_it_is_put_on_record_is_counted_so_and_needs_no_room(
        self, world: World, state: State
    ) -> None:
        waits = world.new()
        task = task_in(state, at=world.ports.now(), owner=world.owner)
        assert world.submit(task, most=1) is None
        assert world.submit(task, most=1) is None, "the same write again"
        assert world.ports.tasks.get(task.id) == task
        books = world.ports.tasks.ledger(world.owner)
        assert books.active == {waits.id}
        assert (books.submitted, getattr(books, state), books.balanced) == (2, 1, True)

    def test_a_ledger_at_its_limit_takes_no_more(self, world: World) -> None:
        world.new()
        over = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        with pytest.raises(TooManyPendingTasks):
            world.submit(over, most=1)
        assert world.ports.tasks.get(over.id) is None
        assert world.ports.tasks.ledger(world.owner).submitted == 1

    def test_a_repeated_submit_of_the_same_write_is_one_task(self, world: World) -> None:
        task = world.new()
        assert world.submit(task) is None
        assert world.ports.tasks.ledger(world.owner).submitted == 1

    def test_a_taken_id_is_refused_and_left_alone(self, world: World) -> None:
        task = world.new()
        other = replace(task_in(State.CREATED, at=world.ports.now(), owner=world.owner), id=task.id)
        with pytest.raises(Refused):
            world.submit(other)
        assert world.ports.tasks.get(task.id) == task
        assert world.ports.tasks.ledger(world.owner).submitted == 1

    def test_a_used_key_gives_the_first_task_back(self, world: World) -> None:
        first = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(first, key=world.key("k")) is None
        second = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(second, key=world.key("k", "m2")) == Replay(first.id, "m1")
        assert world.ports.tasks.find_replay(world.owner, "k") == Replay(first.id, "m1")
        assert world.ports.tasks.find_replay(world.owner, "another") is None
        assert world.ports.tasks.get(second.id) is None
        assert world.ports.tasks.ledger(world.owner).submitted == 1

    def test_an_expired_key_counts_as_absent_though_it_is_still_stored(self, world: World) -> None:
        first = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        world.submit(first, key=world.key("k", seconds=-1))
        assert world.ports.tasks.find_replay(world.owner, "k") is None
        second = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(second, key=world.key("k")) is None
        assert world.ports.tasks.get(second.id) == second

    def test_keys_of_two_users_never_meet(self, world: World) -> None:
        mine = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        other = Owner(world.owner.tenant, world.owner.user + "-other")
        theirs = task_in(State.CREATED, at=world.ports.now(), owner=other)
        assert world.submit(mine, key=world.key("1")) is None
        assert world.ports.tasks.find_replay(other, "1") is None
        assert world.submit(theirs, key=world.key("1")) is None
