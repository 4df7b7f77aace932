"""What every `Audit` must do, and that reconcile repairs every kind of drift on it.

Subclass it and give it a `world` of its own, empty, since a walk reads everything on record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from taskgate.books import Audit, Book, Record
from taskgate.gateway.office.reconciling import Report, reconcile
from taskgate.gateway.office.soundness import Kind
from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import Ledger
from taskgate.task import Task, TaskError
from taskgate.testing.conformance.world import World
from taskgate.testing.factories import stamp, task_in

ERROR = TaskError(ErrorCode.MODEL_ERROR, "no", ErrorClass.PERMANENT)
SEGMENTS = 3


@dataclass
class AuditWorld(World):
    """A store, its audit, and a way to write a record that no rule would allow."""

    audit: Audit | None = None
    force: Callable[[Task], None] | None = None
    unlist: Callable[[Task], None] | None = None
    """Takes a task out of the indexes behind its back; None where that cannot be."""

    def reconcile(self, *, apply: bool = False) -> Report:
        assert self.audit
        stop_at = self.ports.now() + 10**7
        segments = range(SEGMENTS)
        return reconcile(
            self.ports, self.audit, apply=apply, segments=segments, of=SEGMENTS, stop_at=stop_at
        )

    def drift(self, **changed: Any) -> None:
        """Change the owner's books behind everybody's back."""
        book = self.book()
        assert self.audit
        assert self.audit.mend_book(book, replace(book.ledger, **changed))

    def book(self) -> Book:
        assert self.audit
        return self.audit.snapshot(self.owner, 0, [])[0]

    def failed(self) -> Task:
        held = self.claim(self.new(State.QUEUED))
        end = transitions.fail(held, stamp(self.ports.now()), ERROR, GiveUp("no"))
        return self.ports.tasks.apply(end)

    def succeeded(self) -> Task:
        held = self.claim(self.new(State.QUEUED))
        return self.ports.tasks.apply(transitions.succeed(held, stamp(self.ports.now()), Outcome()))


Break = Callable[[AuditWorld], object]


def _lost_from_books(world: AuditWorld) -> None:
    world.drift(active=world.book().ledger.active - {world.new().id})


def _ended_still_active(world: AuditWorld) -> None:
    done = world.succeeded()
    books = world.book().ledger
    world.drift(active=books.active | {done.id}, succeeded=books.succeeded - 1)


def _reopened_uncounted(world: AuditWorld) -> None:
    failed = world.failed()
    reopened = transitions.reopen(failed, stamp(world.ports.now()), failed.budgets)
    assert reopened.after
    assert world.force
    world.force(reopened.after)


def _ghosts(world: AuditWorld) -> None:
    world.drift(active=world.book().ledger.active | {"task_a", "task_b", "task_c"})


def _over(world: AuditWorld) -> None:
    world.drift(submitted=world.book().ledger.submitted + 3)


def _under(world: AuditWorld) -> None:
    world.drift(submitted=world.book().ledger.submitted - 1)


def _forgotten(world: AuditWorld) -> None:
    world.drift(active=frozenset(), submitted=0)


def _forget(world: AuditWorld, shard: int) -> None:
    """One shard of the ledger has lost whatever is active in it."""
    assert world.audit
    book, _ = world.audit.snapshot(world.owner, shard, [])
    active: frozenset[str] = frozenset()
    assert world.audit.mend_book(book, replace(book.ledger, active=active, submitted=0))


DRIFTS: dict[str, tuple[Break, set[Kind], int]] = {
    "a live task is lost from the books": (_lost_from_books, {Kind.LIVE_NOT_ACTIVE}, 1),
    "an end was never counted": (_ended_still_active, {Kind.ACTIVE_NOT_LIVE}, 1),
    "a reopening was never counted": (_reopened_uncounted, {Kind.LIVE_NOT_ACTIVE}, 1),
    "three ids of no task are active": (_ghosts, {Kind.ACTIVE_NOT_LIVE}, 3),
    "three too many were submitted": (_over, {Kind.UNBALANCED}, 3),
    "one too few was submitted": (_under, {Kind.UNBALANCED}, 1),
    "the books have lost a task": (_forgotten, {Kind.LIVE_NOT_ACTIVE, Kind.UNBALANCED}, 3),
}
BROKEN: dict[str, tuple[State, dict[str, Any], Kind]] = {
    "a live task has no clock": (State.QUEUED, {"due_at": None}, Kind.NO_CLOCK),
    "a clock stands after the deadline": (State.RETRYING, {"due_at": 4 * 10**12}, Kind.LATE_CLOCK),
    "a settled task has a clock": (State.SUCCEEDED, {"due_at": 10**12}, Kind.NEEDLESS_CLOCK),
    "the history ends elsewhere": (State.PAUSED, {}, Kind.UNTOLD),
    "an ended task does not say when": (State.CANCELED, {"ended_at": None}, Kind.WRONG_END),
    "a live task says that it ended": (State.QUEUED, {"ended_at": 10**12}, Kind.WRONG_END),
    "a worker died and no clock watches": (State.STALLED, {"due_at": None}, Kind.NO_CLOCK),
}


class AuditConformance:
    """Promises of `Audit`, and of reconcile on it."""

    @pytest.fixture
    def world(self) -> AuditWorld:
        """An empty store under audit."""
        raise NotImplementedError

    def test_a_sound_world_has_no_differences(self, world: AuditWorld) -> None:
        for _ in range(5):
            world.new(State.CREATED)
        world.claim(world.new(State.QUEUED))
        world.succeeded()
        world.failed()
        report = world.reconcile()
        assert report.differences == []
        assert (report.tasks, report.books, report.finished) == (8, 1, True)

    def test_a_walk_meets_every_record_once(self, world: AuditWorld) -> None:
        made = {world.new().id for _ in range(60)}
        assert world.audit
        seen: list[str] = []
        for segment in range(SEGMENTS):
            start: str | None = None
            while True:
                page = world.audit.rows(segment, SEGMENTS, start)
                seen += [row.task.id for row in page.rows if isinstance(row, Record)]
                start = page.next
                if start is None:
                    break
        assert sorted(seen) == sorted(made)

    def test_a_snapshot_shows_book_and_tasks_of_one_moment(self, world: AuditWorld) -> None:
        task = world.new()
        assert world.audit
        book, tasks = world.audit.snapshot(world.owner, 0, [task.id, "task_gone"])
        assert book.ledger == world.ports.tasks.ledger(world.owner)
        assert tasks == {task.id: task}
        assert world.audit.record(task.id) == Record(task)
        assert world.audit.record("task_gone") is None

    def test_books_that_moved_since_they_were_read_are_not_written(self, world: AuditWorld) -> None:
        world.new()
        book = world.book()
        world.new()
        assert world.audit
        assert not world.audit.mend_book(book, Ledger(submitted=99))
        assert world.ports.tasks.ledger(world.owner).submitted == 2

    @pytest.mark.parametrize("drift", DRIFTS)
    def test_every_drift_of_the_books_is_shown_left_and_then_repaired(
        self, world: AuditWorld, drift: str
    ) -> None:
        world.new()
        world.failed()
        break_it, kinds, amount = DRIFTS[drift]
        break_it(world)
        before = world.ports.tasks.ledger(world.owner)
        shown = world.reconcile()
        assert {d.flaw.kind for d in shown.differences} == kinds
        assert (shown.unaccounted, shown.repaired) == (amount, 0)
        assert world.ports.tasks.ledger(world.owner) == before
        repaired = world.reconcile(apply=True)
        assert (repaired.unaccounted, repaired.left) == (amount, 0)
        assert world.reconcile().differences == []
        assert world.ports.tasks.ledger(world.owner).balanced

    def test_each_shard_of_a_ledger_is_proved_and_repaired_by_itself(
        self, world: AuditWorld
    ) -> None:
        assert world.audit
        kept = {shard: world.new(ledger_shard=shard).id for shard in (0, 2, 5)}
        assert world.reconcile().differences == []
        _forget(world, 2)
        lost, sum_ = world.reconcile(apply=True).differences
        assert (lost.flaw.kind, lost.flaw.task_id) == (Kind.LIVE_NOT_ACTIVE, kept[2])
        assert sum_.flaw.kind is Kind.UNBALANCED
        assert world.reconcile().differences == []
        assert world.ports.tasks.pending(world.owner) == {0: 1, 2: 1, 5: 1}

    def test_a_task_in_a_shard_that_is_not_its_own_is_put_back_into_its_own(
        self, world: AuditWorld
    ) -> None:
        assert world.audit
        task = world.new(ledger_shard=2)
        _forget(world, 2)
        world.drift(active=frozenset({task.id}), submitted=1)
        kinds = {d.flaw.kind for d in world.reconcile(apply=True).differences}
        assert kinds >= {Kind.LIVE_NOT_ACTIVE, Kind.ACTIVE_NOT_LIVE}
        assert world.reconcile().differences == []
        assert world.ports.tasks.pending(world.owner) == {0: 0, 2: 1}

    def test_an_end_that_was_never_counted_is_counted_where_it_belongs(
        self, world: AuditWorld
    ) -> None:
        _ended_still_active(world)
        world.reconcile(apply=True)
        books = world.ports.tasks.ledger(world.owner)
        assert (books.submitted, books.succeeded, books.active) == (1, 1, frozenset())

    def test_a_reopening_that_was_never_counted_takes_its_end_back(self, world: AuditWorld) -> None:
        _reopened_uncounted(world)
        world.reconcile(apply=True)
        books = world.ports.tasks.ledger(world.owner)
        assert (books.submitted, books.failed, len(books.active)) == (1, 0, 1)

    @pytest.mark.parametrize("broken", BROKEN)
    def test_every_record_that_contradicts_itself_is_shown_left_and_then_repaired(
        self, world: AuditWorld, broken: str
    ) -> None:
        task, kind = self._broken(world, broken)
        shown = world.reconcile()
        assert [d.flaw.kind for d in shown.differences] == [kind]
        assert shown.differences[0].flaw.task_id == task.id
        assert world.ports.tasks.get(task.id) == task
        repaired = world.reconcile(apply=True)
        assert (repaired.repaired, repaired.left) == (1, 0)
        assert world.reconcile().differences == []
        after = world.ports.tasks.get(task.id)
        assert after is not None
        assert (after.state, after.attempt) == (task.state, task.attempt)

    def test_a_repaired_clock_is_found_by_the_sweep(self, world: AuditWorld) -> None:
        task, _ = self._broken(world, "a live task has no clock")
        world.reconcile(apply=True)
        found = [
            due.task_id
            for shard in range(world.clock_shards)
            for due in world.ports.tasks.due(shard, world.ports.now() + 10**9, 100).rows
        ]
        assert task.id in found

    def test_a_task_that_the_indexes_have_lost_is_found_and_listed_again(
        self, world: AuditWorld
    ) -> None:
        if world.unlist is None:
            pytest.skip("the indexes of this store are the records themselves")
        task = world.new()
        world.unlist(task)
        assert [d.flaw.kind for d in world.reconcile().differences] == [Kind.UNLISTED]
        world.reconcile(apply=True)
        assert world.reconcile().differences == []

    def _broken(self, world: AuditWorld, broken: str) -> tuple[Task, Kind]:
        state, fields, kind = BROKEN[broken]
        # Long ago, so that no worker can be taken for alive.
        long_ago = world.ports.now() - 3_600_000
        task = task_in(state, at=long_ago, owner=world.owner, **fields)
        last = replace(task.history[-1], to=State.FAILED if kind is Kind.UNTOLD else state)
        task = replace(task, history=(*task.history, last))
        assert world.submit(task) is None
        return task, kind
