"""A change takes effect whole, once, and only where its guard admits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import pytest

from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp, rearmed
from taskgate.lifecycle.retry import ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.task import CancelMode, ResultFile, Task
from taskgate.testing.conformance.world import ERROR, World, spent
from taskgate.testing.factories import stamp, task_in

OF_GHOSTS: Final[Mapping[str, tuple[State, Callable[[Task, Stamp], Change]]]] = {
    "enqueue": (State.CREATED, transitions.enqueue),
    "claim": (State.QUEUED, lambda t, s: transitions.claim(t.id, 0, s, "w1", 45_000)),
    "rearmed": (State.QUEUED, lambda t, s: rearmed(t, s, s.at + 1)),
    "pause": (State.QUEUED, transitions.pause),
    "cancel": (
        State.QUEUED,
        lambda t, s: transitions.cancel(t, s, CancelMode.HARD, ErrorCode.CANCELED_BY_USER),
    ),
    "succeed": (State.PROCESSING, lambda t, s: transitions.succeed(t, s, Outcome())),
    "fail": (State.PROCESSING, lambda t, s: transitions.fail(t, s, ERROR, GiveUp("no"))),
    "hand_back": (State.PROCESSING, lambda t, s: transitions.hand_back(t, s, None)),
    "stall": (State.PROCESSING, transitions.stall),
    "reopen": (State.FAILED, lambda t, s: transitions.reopen(t, s, spent())),
}
"""Changes of a task that is on no record, by the state that it is believed to be in."""


class ChangesConformance:
    """A change takes effect whole, once, and only where its guard admits it."""

    def test_a_change_is_what_applied_says(self, world: World) -> None:
        task = world.new()
        change = transitions.enqueue(task, stamp(world.ports.now()))
        after = world.ports.tasks.apply(change)
        assert after == change.after == world.ports.tasks.get(task.id)
        assert after.version == task.version + 1
        assert [e.to for e in after.history] == [State.CREATED, State.QUEUED]

    @pytest.mark.parametrize("kind", OF_GHOSTS)
    def test_a_refused_change_of_an_unknown_task_makes_no_row(
        self, world: World, kind: str
    ) -> None:
        state, made = OF_GHOSTS[kind]
        ghost = task_in(state, at=world.ports.now(), owner=world.owner)
        with pytest.raises(Refused) as refused:
            world.ports.tasks.apply(made(ghost, stamp(world.ports.now())))
        assert refused.value.current is None
        assert world.ports.tasks.get(ghost.id) is None
        assert world.ports.tasks.ledger(world.owner).submitted == 0

    def test_the_same_write_twice_is_once(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        change = transitions.succeed(held, stamp(world.ports.now()), _outcome(held))
        first, again = world.ports.tasks.apply(change), world.ports.tasks.apply(change)
        assert first == again
        assert world.ports.tasks.ledger(world.owner).succeeded == 1

    def test_a_rearmed_clock_changes_nothing_else(self, world: World) -> None:
        task = world.new(State.QUEUED)
        look_at = world.ports.now() + 77_000
        after = world.ports.tasks.apply(rearmed(task, stamp(world.ports.now()), look_at))
        assert after == replace(task, due_at=look_at, version=task.version + 1, op_id=after.op_id)

    def test_an_end_moves_state_ledger_and_clock_in_one_write(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        done = world.ports.tasks.apply(
            transitions.succeed(held, stamp(held.since + 10), _outcome(held))
        )
        stored = world.ports.tasks.get(held.id)
        assert stored == done
        assert (done.state, done.due_at, done.result) == (State.SUCCEEDED, None, _files(held))
        books = world.ports.tasks.ledger(world.owner)
        assert (books.active, books.succeeded, books.run_ms) == (frozenset(), 1, 10)
        assert books.balanced

    def test_a_late_attempt_ends_nothing(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        fail = transitions.fail(held, stamp(world.ports.now()), ERROR, RetryAt(world.ports.now()))
        retrying = world.ports.tasks.apply(fail)
        newer = world.claim(retrying, "w2")
        for change in (
            transitions.succeed(held, stamp(world.ports.now()), Outcome()),
            transitions.fail(held, stamp(world.ports.now()), ERROR, GiveUp("no")),
            transitions.hand_back(held, stamp(world.ports.now()), None),
        ):
            with pytest.raises(Refused) as refused:
                world.ports.tasks.apply(change)
            assert refused.value.current == newer
        assert world.ports.tasks.get(held.id) == newer

    def test_a_retry_keeps_the_task_active_and_spends_its_budget(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        at = world.ports.now() + 5_000
        fail = transitions.fail(held, stamp(world.ports.now()), ERROR, RetryAt(at))
        after = world.ports.tasks.apply(fail)
        assert (after.state, after.not_before, after.budgets.retries.spent) == (
            State.RETRYING,
            at,
            1,
        )
        assert world.ports.tasks.get(held.id) == after
        assert world.ports.tasks.ledger(world.owner).active == {held.id}

    def test_a_cancel_guards_the_version_that_it_read(self, world: World) -> None:
        task = world.new(State.QUEUED)
        cancel = transitions.cancel(
            task, stamp(world.ports.now()), CancelMode.HARD, ErrorCode.CANCELED_BY_USER
        )
        held = world.claim(task)
        with pytest.raises(Refused) as refused:
            world.ports.tasks.apply(cancel)
        assert refused.value.current == held

    def test_a_reopened_task_is_active_again(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        fail = transitions.fail(held, stamp(held.since + 7), ERROR, GiveUp("no"))
        failed = world.ports.tasks.apply(fail)
        assert world.ports.tasks.ledger(world.owner).failed == 1
        reopened = world.ports.tasks.apply(
            transitions.reopen(failed, stamp(world.ports.now()), spent())
        )
        books = world.ports.tasks.ledger(world.owner)
        assert (reopened.state, reopened.ended_at) == (State.QUEUED, None)
        assert (books.failed, books.active, books.run_ms) == (0, frozenset({held.id}), 0)
        assert world.ports.tasks.get(held.id) == reopened

    def test_a_task_is_reopened_only_while_its_user_has_room(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        fail = transitions.fail(held, stamp(held.since + 7), ERROR, GiveUp("no"))
        failed, other = world.ports.tasks.apply(fail), world.new(State.QUEUED)
        books = world.ports.tasks.ledger(world.owner)
        with pytest.raises(TooManyPendingTasks):
            world.ports.tasks.apply(
                transitions.reopen(failed, stamp(world.ports.now()), spent(), room=1)
            )
        assert world.ports.tasks.get(failed.id) == failed
        assert world.ports.tasks.ledger(world.owner) == books
        again = transitions.reopen(failed, stamp(world.ports.now()), spent(), room=2)
        world.ports.tasks.apply(again)
        assert world.ports.tasks.ledger(world.owner).active == {failed.id, other.id}


def _files(task: Task) -> tuple[ResultFile, ...]:
    key = f"r/{task.owner.tenant}/{task.id}/{task.attempt}/vectors.npy"
    return (ResultFile("vectors.npy", key, 123, bytes(range(32)), "application/octet-stream"),)


def _outcome(task: Task) -> Outcome:
    return Outcome(_files(task), '{"vectors":3}')
