"""Reconcile over the in-memory ports: what it may touch, what it must not, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from taskgate.books import Book, Tasks
from taskgate.errors import Refused, Unavailable
from taskgate.gateway.office import dead_letters
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.gateway.office.reconciling import Report, reconcile
from taskgate.gateway.office.soundness import Kind
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.history import MAX_ENTRIES
from taskgate.lifecycle.states import HELD, State
from taskgate.ports import Ledger, Message, Page, Pulse
from taskgate.task import Owner, Task
from taskgate.testing.factories import OWNER, task_in
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.audit import MemoryArchive, MemoryAudit
from tests.unit.gateway.test_sweeping import put
from tests.unit.gateway.test_worker_gateway import (
    LANE,
    claimed,
    gateway,
    submitted,
)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def check(
    world: MemoryWorld,
    audit: MemoryAudit | None = None,
    *,
    apply: bool = False,
    seconds: int = 600,
) -> Report:
    stop_at = world.clock() + seconds * 1000
    audit = audit or MemoryAudit(world.tasks)
    return reconcile(world.ports, audit, apply=apply, segments=range(4), of=4, stop_at=stop_at)


def drift(world: MemoryWorld, owner: Owner = OWNER, **by: int) -> None:
    books = world.tasks.books[owner, 0]
    moved = {name: getattr(books, name) + amount for name, amount in by.items()}
    world.tasks.books[owner, 0] = replace(books, **moved)


def test_a_drift_of_3_is_gone_after_one_repair_and_shows_as_3(world: MemoryWorld) -> None:
    for _ in range(5):
        submitted(world)
    drift(world, submitted=3)
    report = check(world, apply=True)
    assert (report.unaccounted, report.repaired, report.left) == (3, 1, 0)
    assert world.tasks.ledger(OWNER).submitted == 5
    assert check(world).unaccounted == 0


def test_a_difference_shows_both_values_side_by_side(world: MemoryWorld) -> None:
    submitted(world)
    drift(world, failed=2)
    (difference,) = check(world).differences
    assert (difference.flaw.found, difference.flaw.expected) == (
        "submitted 1",
        "active 1 + ended 2",
    )
    assert (difference.owner, difference.outcome) == ("acme#ada", "left: dry run")


@pytest.mark.parametrize("state", sorted(HELD))
def test_a_task_whose_worker_is_alive_is_never_touched(world: MemoryWorld, state: State) -> None:
    task = put(world, task_in(state, at=world.clock() - 3_600_000, due_at=None))
    world.tasks.books[OWNER, 0] = Ledger(active=frozenset({task.id}), submitted=1)
    world.pulses.beat(
        Pulse(task_id=task.id, attempt=task.attempt, worker="w1", beat_at=world.clock())
    )
    report = check(world, apply=True)
    assert {d.outcome for d in report.differences} == {"left: its worker is alive"}
    assert world.tasks.tasks[task.id] == task
    world.clock.advance(46)
    assert check(world, apply=True).left == 0


def test_a_task_that_was_claimed_a_moment_ago_is_not_touched(world: MemoryWorld) -> None:
    submitted(world)
    held = claimed(world)
    broken = put(world, replace(world.tasks.tasks[held.task.id], due_at=None))
    assert check(world, apply=True).repaired == 0
    assert world.tasks.tasks[broken.id] == broken


def test_tasks_that_move_during_the_walk_are_no_differences(world: MemoryWorld) -> None:
    class Late(MemoryAudit):
        """Shows rows as they were before everything moved on."""

        def rows(self, segment: int, segments: int, start: str | None = None) -> Page:  # type: ignore[type-arg]
            page = super().rows(segment, segments, start)
            if segment == 0 and start is None:
                for _ in range(20):
                    gateway(world).succeed(claimed(world), [], None)
            return page

    for _ in range(40):
        submitted(world)
    assert check(world, Late(world.tasks)).differences == []


@pytest.mark.parametrize("apply", [False, True])
def test_what_only_looked_wrong_at_the_first_look_is_no_difference(
    world: MemoryWorld, apply: bool
) -> None:
    class Stale(MemoryAudit):
        """Its first look at places is of a moment at which nothing was booked yet."""

        looks = 0

        def snapshot(self, owner: Owner, shard: int, ids: Sequence[str]) -> tuple[Book, Tasks]:
            book, tasks = super().snapshot(owner, shard, ids)
            self.looks += 1
            first = self.looks == 1
            return (replace(book, ledger=Ledger()), tasks) if first else (book, tasks)

    submitted(world)
    books = world.tasks.ledger(OWNER)
    audit = Stale(world.tasks)
    assert check(world, audit, apply=apply).differences == []
    assert audit.looks >= 2
    assert world.tasks.ledger(OWNER) == books


def test_books_that_move_while_they_are_repaired_are_looked_at_anew(world: MemoryWorld) -> None:
    class Busy(MemoryAudit):
        """A task is submitted between the look and the first write."""

        tries = 0

        def mend_book(self, book: object, ledger: Ledger) -> bool:
            self.tries += 1
            if self.tries == 1:
                submitted(world)
            return super().mend_book(book, ledger)  # type: ignore[arg-type]

    submitted(world)
    drift(world, submitted=3)
    audit = Busy(world.tasks)
    assert check(world, audit, apply=True).left == 0
    assert (audit.tries, world.tasks.ledger(OWNER).submitted) == (2, 2)
    assert check(world).differences == []


def test_books_that_never_hold_still_are_left_and_said_so(world: MemoryWorld) -> None:
    class Restless(MemoryAudit):
        def mend_book(self, book: object, ledger: Ledger) -> bool:
            del book, ledger
            return False

    submitted(world)
    drift(world, submitted=3)
    report = check(world, Restless(world.tasks), apply=True)
    assert [d.outcome for d in report.differences] == ["left: the books kept moving"]


def test_a_record_that_moves_while_it_is_repaired_is_left_to_the_next_run(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(change: Change) -> Task:
        raise Refused(None)

    task = put(world, task_in(State.CREATED, at=world.clock(), due_at=None))
    world.tasks.books[OWNER, 0] = Ledger(active=frozenset({task.id}), submitted=1)
    monkeypatch.setattr(world.tasks, "apply", refused)
    assert [d.outcome for d in check(world, apply=True).differences] == ["left: it moved meanwhile"]


def test_hundreds_of_wrong_ids_in_one_book_are_repaired_in_one_run(world: MemoryWorld) -> None:
    for _ in range(95):
        submitted(world)
    books = world.tasks.books[OWNER, 0]
    ghosts = frozenset(f"task_ghost{i:03d}" for i in range(200))
    world.tasks.books[OWNER, 0] = replace(books, active=ghosts)
    report = check(world, apply=True)
    assert report.left == 0
    assert {d.flaw.kind for d in report.differences} == {
        Kind.ACTIVE_NOT_LIVE,
        Kind.LIVE_NOT_ACTIVE,
    }
    assert world.tasks.ledger(OWNER) == books
    assert check(world).differences == []


def test_a_full_history_is_mended_within_its_bound(world: MemoryWorld) -> None:
    task = task_in(State.QUEUED, at=world.clock())
    task = put(world, replace(task, history=task.history * MAX_ENTRIES))
    world.tasks.books[OWNER, 0] = Ledger(active=frozenset({task.id}), submitted=1)
    assert check(world, apply=True).repaired == 1
    mended = world.tasks.tasks[task.id].history
    assert len(mended) == MAX_ENTRIES
    assert (mended[-1].to, mended[-1].actor) == (State.QUEUED, "reconcile")


def test_a_walk_that_breaks_off_is_no_proof_and_tells_what_it_saw(world: MemoryWorld) -> None:
    class Throttled(MemoryAudit):
        def snapshot(self, owner: Owner, shard: int, ids: object) -> tuple[Book, Tasks]:
            raise Unavailable

    submitted(world)
    report = check(world, Throttled(world.tasks))
    assert (report.finished, report.broke_off) == (False, True)
    assert report.tasks + report.books >= 1


def test_a_walk_that_runs_out_of_time_still_tells_what_it_saw(world: MemoryWorld) -> None:
    submitted(world)
    report = check(world, seconds=0)
    assert (report.finished, report.tasks) == (False, 0)


def test_a_dead_letter_of_a_drifted_task_does_not_unbalance_it_further(world: MemoryWorld) -> None:
    task = submitted(world)
    world.tasks.books[OWNER, 0] = Ledger()
    assert check(world, apply=True).left == 0
    archive, message = MemoryArchive(), Message(task.id, 0)
    for number in (1, 2):
        found = DeadLetter(id=str(number), lane=LANE, body="", receives=10, sent_at=world.clock())
        dead_letters.answer(world.ports, archive, found, message)
    assert world.state(task.id) is State.FAILED
    assert check(world).differences == []
