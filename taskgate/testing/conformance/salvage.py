"""What every store must do with kept results. Subclass it beside `StoreConformance`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import Replay
from taskgate.salvage import Reuse, Salvage, fingerprint
from taskgate.task import CancelMode, CancelRequest, ResultFile, Task
from taskgate.testing.conformance.world import World
from taskgate.testing.factories import stamp, task_in

MARK = fingerprint("embed_document", 1, '{"text":"x"}')
LIKELY, IF_MARKED = Reuse(MARK, likely=True), Reuse(MARK, likely=False)
BOTH = pytest.mark.parametrize("reuse", [LIKELY, IF_MARKED])


def _kept(
    world: World, *, once: bool = True, seconds: int = 600, mark: str = MARK, shard: int = 0
) -> Salvage:
    """A soft-cancelled run has come to its end, and its result is kept."""
    asked = CancelRequest(CancelMode.SOFT, ErrorCode.CANCELED_BY_USER, world.ports.now())
    task = world.new(State.CANCELING, cancel=asked, ledger_shard=shard)
    salvage = _salvage(world, task, once=once, seconds=seconds, mark=mark)
    at = stamp(world.ports.now())
    world.ports.tasks.apply(transitions.stopped(task, at, salvage=salvage))
    return salvage


def _salvage(world: World, task: Task, *, once: bool, seconds: int, mark: str) -> Salvage:
    key = f"r/{task.owner.tenant}/{task.id}/{task.attempt}/a.png"
    return Salvage(
        owner=world.owner,
        fingerprint=mark,
        source=task.id,
        files=(ResultFile("a.png", key, 9, bytes(32), "image/png"),),
        output='{"n":1}',
        expires_at=world.ports.now() // 1000 + seconds,
        once=once,
    )


def _fresh(world: World) -> Task:
    return task_in(State.CREATED, at=world.ports.now(), owner=world.owner)


def _ended(world: World, salvage: Salvage) -> Task:
    outcome = Outcome(salvage.files, salvage.output)
    change = transitions.reuse(
        _fresh(world), stamp(world.ports.now()), Outcome((), outcome.output), salvage.source
    )
    assert change.after is not None
    return change.after


class SalvageConformance:
    """Promises of `TaskStore` about kept results."""

    @pytest.fixture
    def world(self) -> World:
        """The store under test, with an owner of its own."""
        raise NotImplementedError

    @BOTH
    def test_a_kept_result_is_found_by_the_next_same_submit_and_nothing_is_written(
        self, world: World, reuse: Reuse
    ) -> None:
        salvage, task = _kept(world), _fresh(world)
        assert world.submit(task, reuse=reuse) == salvage
        assert world.ports.tasks.get(task.id) is None
        assert world.ports.tasks.ledger(world.owner).active == frozenset()

    @BOTH
    def test_a_kept_result_is_found_whatever_shard_of_the_ledger_its_task_was_booked_in(
        self, world: World, reuse: Reuse
    ) -> None:
        salvage = _kept(world, shard=2)
        task = replace(_fresh(world), ledger_shard=1)
        assert world.submit(task, reuse=reuse, ledger_shards=3) == salvage

    @BOTH
    def test_another_input_an_expired_result_and_a_refusal_to_reuse_make_a_new_task(
        self, world: World, reuse: Reuse
    ) -> None:
        _kept(world, mark=fingerprint("embed_document", 2, '{"text":"x"}'))
        assert world.submit(_fresh(world), reuse=reuse) is None
        _kept(world, seconds=0)
        assert world.submit(_fresh(world), reuse=reuse) is None
        _kept(world)
        assert world.submit(_fresh(world)) is None

    @BOTH
    def test_a_result_that_is_given_once_is_taken_by_one(self, world: World, reuse: Reuse) -> None:
        salvage = _kept(world)
        first = _ended(world, salvage)
        assert world.submit(first, takes=salvage) is None
        assert world.ports.tasks.get(first.id) == first
        with pytest.raises(Refused):
            world.submit(_ended(world, salvage), takes=salvage)
        assert world.submit(_fresh(world), reuse=reuse) is None

    def test_a_result_of_a_type_that_reuses_serves_many(self, world: World) -> None:
        salvage = _kept(world, once=False)
        for _ in range(3):
            assert world.submit(_fresh(world), reuse=LIKELY) == salvage
            assert world.submit(_ended(world, salvage), takes=salvage) is None
        books = world.ports.tasks.ledger(world.owner)
        assert (books.submitted, books.succeeded, books.canceled) == (4, 3, 1)
        assert books.balanced

    @BOTH
    def test_what_ends_at_once_needs_no_room_in_the_books(self, world: World, reuse: Reuse) -> None:
        salvage = _kept(world)
        world.new()
        assert world.submit(_fresh(world), most=1, reuse=reuse) == salvage
        assert world.submit(_ended(world, salvage), most=1, takes=salvage) is None
        books = world.ports.tasks.ledger(world.owner)
        assert (len(books.active), books.succeeded, books.balanced) == (1, 1, True)
        with pytest.raises(TooManyPendingTasks):
            world.submit(_fresh(world), most=1, reuse=reuse)

    def test_a_used_key_is_a_replay_whatever_is_kept(self, world: World) -> None:
        task = _fresh(world)
        world.submit(task, key=world.key("k"))
        salvage = _kept(world)
        again = Replay(task.id, "m1")
        assert world.submit(_fresh(world), key=world.key("k"), reuse=IF_MARKED) == again
        assert world.submit(_fresh(world), key=world.key("k"), reuse=LIKELY) == again
        assert world.submit(_ended(world, salvage), key=world.key("k"), takes=salvage) == again

    def test_a_newer_result_of_the_same_input_takes_the_place_of_an_older(
        self, world: World
    ) -> None:
        older, newer = _kept(world), _kept(world)
        assert world.submit(_fresh(world), reuse=LIKELY) == newer
        with pytest.raises(Refused):
            world.submit(_ended(world, older), takes=older)

    def test_nobody_elses_result_is_found(self, world: World) -> None:
        _kept(world)
        other = replace(world, owner=replace(world.owner, user=f"{world.owner.user}x"))
        assert other.submit(_fresh(other), reuse=LIKELY) is None

    def test_a_task_with_a_kept_result_reads_back_whole(self, world: World) -> None:
        task = world.ports.tasks.get(_kept(world).source)
        assert task is not None
        assert task.kept_until is not None
        assert (task.result, task.due_at) == ((), task.kept_until)
