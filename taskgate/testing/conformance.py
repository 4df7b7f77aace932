"""What every store must do. Subclass it, give it a `world`, and pytest runs the promises.

The in-memory store and DynamoDB pass the same suite, on moto and on the emulator.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import pytest

from taskgate.errors import LeaseLost, Refused, TooManyPendingTasks
from taskgate.lifecycle import owing, transitions
from taskgate.lifecycle.change import rearmed
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import IdempotencyKey, Ports, Problem, Pulse, Replay, Seen, Signal, Submission
from taskgate.salvage import Salvage
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import (
    Callback,
    CancelMode,
    CancelRequest,
    Duty,
    Owner,
    ResultFile,
    Task,
    TaskError,
    Tried,
)
from taskgate.testing.factories import OWNER, stamp, task_in

ERROR = TaskError(
    ErrorCode.MODEL_ERROR, "the model said no: \u00e9\U0001f600\uffff", ErrorClass.TRANSIENT
)


@dataclass
class World:
    """A store under test and the owner that this test has to itself."""

    ports: Ports
    owner: Owner = OWNER
    clock_shards: int = 16

    def new(self, state: State = State.CREATED, **fields: Any) -> Task:
        """A task in `state`, on record, its ledger entry made."""
        task = task_in(state, at=self.ports.now(), owner=self.owner, **fields)
        assert self.submit(task) is None
        return task

    def submit(
        self,
        task: Task,
        *,
        key: IdempotencyKey | None = None,
        most: int = 1000,
        text: str = "{}",
        then: str | None = None,
        **more: Any,
    ) -> Replay | Salvage | None:
        submission = Submission(
            task=task, input=text, idempotency=key, max_pending=most, then=then, **more
        )
        return self.ports.tasks.create(submission)

    def key(self, name: str, mark: str = "m1", seconds: int = 3600) -> IdempotencyKey:
        return IdempotencyKey(name, mark, self.ports.now() // 1000 + seconds)

    def claim(self, task: Task, worker: str = "w1", attempt: int | None = None) -> Task:
        at = stamp(self.ports.now())
        expected = task.attempt if attempt is None else attempt
        return self.ports.tasks.apply(
            transitions.claim(task.id, expected, at, worker, task.limits.lease)
        )


class StoreConformance:
    """Promises of `TaskStore` and `Pulses`."""

    @pytest.fixture
    def world(self) -> World:
        """The store under test, with an owner of its own."""
        raise NotImplementedError

    def test_a_new_task_reads_back_as_it_was_written(self, world: World) -> None:
        task = world.new(metadata='{"ключ":"é😀"}', error=ERROR, budgets=_spent())
        assert world.ports.tasks.get(task.id) == task

    @pytest.mark.parametrize("state", list(State))
    def test_a_task_in_any_state_reads_back_whole(self, world: World, state: State) -> None:
        task = world.new(state)
        assert world.ports.tasks.get(task.id) == task

    def test_an_unknown_id_is_none(self, world: World) -> None:
        assert world.ports.tasks.get("task_nothing") is None
        assert world.ports.tasks.get_with_pulse("task_nothing") == (None, None)
        assert world.ports.tasks.get_input("task_nothing") is None

    def test_many_are_read_by_id_and_those_that_are_not_there_are_left_out(
        self, world: World
    ) -> None:
        first, second = world.new(), world.new(State.QUEUED)
        asked = [second.id, "task_nothing", first.id, first.id]
        assert world.ports.tasks.get_many(asked) == {first.id: first, second.id: second}
        assert world.ports.tasks.get_many([]) == {}

    def test_the_input_survives_byte_for_byte(self, world: World) -> None:
        text = '{"p":"\\u0000\\u0007\uffff \U0001f469\u200d\U0001f680 \u202ertl","n":1e-7,"c":1.0}'
        task = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        world.submit(task, text=text)
        assert world.ports.tasks.get_input(task.id) == text

    def test_a_submit_enters_the_ledger_in_the_same_write(self, world: World) -> None:
        task = world.new()
        books = world.ports.tasks.ledger(world.owner)
        assert books.active == {task.id}
        assert (books.submitted, books.balanced) == (1, True)

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

    def test_what_follows_a_task_is_kept_beside_it(self, world: World) -> None:
        task = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(task, then='[{"type":"é"}]', key=world.key("k")) is None
        assert world.ports.tasks.get_then(task.id) == '[{"type":"é"}]'
        assert world.ports.tasks.get_then(world.new().id) is None
        again = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(again, then="[]", key=world.key("k")) == Replay(task.id, "m1")

    def test_the_first_bytes_of_a_callback_are_kept_for_ever(self, world: World) -> None:
        task = world.new()
        first = '{"a":1,"b":"é😀"}'
        assert world.ports.tasks.callback_body(task.id, 0, first) == first
        assert world.ports.tasks.callback_body(task.id, 0, "{}") == first
        assert world.ports.tasks.callback_body(task.id, 1, "{}") == "{}"

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

    def test_a_change_is_what_applied_says(self, world: World) -> None:
        task = world.new()
        change = transitions.enqueue(task, stamp(world.ports.now()))
        after = world.ports.tasks.apply(change)
        assert after == change.after == world.ports.tasks.get(task.id)
        assert after.version == task.version + 1
        assert [e.to for e in after.history] == [State.CREATED, State.QUEUED]

    def test_a_claim_takes_the_task_without_reading_it(self, world: World) -> None:
        task = world.new(State.QUEUED)
        held = world.claim(task)
        assert (held.state, held.attempt, held.worker) == (State.PROCESSING, 1, "w1")
        assert held.due_at == held.since + task.limits.lease
        assert world.ports.tasks.get(task.id) == held

    def test_a_second_claim_is_refused_and_shown_the_holder(self, world: World) -> None:
        task = world.new(State.QUEUED)
        held = world.claim(task)
        with pytest.raises(Refused) as refused:
            world.claim(task, "w2")
        assert refused.value.current == held

    def test_a_message_of_a_lane_that_the_task_has_left_claims_nothing(self, world: World) -> None:
        task = world.new(State.QUEUED)
        moved = world.ports.tasks.apply(
            transitions.prioritize(task, stamp(world.ports.now()), "cpu-low")
        )
        lease = task.limits.lease
        for lane in (task.lane, moved.lane):
            change = transitions.claim(task.id, 0, stamp(world.ports.now()), "w1", lease, lane)
            if lane == moved.lane:
                assert world.ports.tasks.apply(change).state is State.PROCESSING
                continue
            with pytest.raises(Refused) as refused:
                world.ports.tasks.apply(change)
            assert refused.value.current == moved

    def test_a_task_that_is_not_due_yet_is_not_claimed(self, world: World) -> None:
        task = world.new(State.RETRYING, not_before=world.ports.now() + 60_000)
        with pytest.raises(Refused):
            world.claim(task)

    def test_a_task_past_its_deadline_is_not_claimed(self, world: World) -> None:
        task = world.new(State.QUEUED, deadline_at=world.ports.now())
        with pytest.raises(Refused):
            world.claim(task)

    def test_a_refused_change_of_an_unknown_task_makes_no_row(self, world: World) -> None:
        ghost = task_in(State.QUEUED, at=world.ports.now(), owner=world.owner)
        with pytest.raises(Refused) as refused:
            world.claim(ghost)
        assert refused.value.current is None
        assert world.ports.tasks.get(ghost.id) is None

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

    def test_the_same_write_twice_is_once(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        change = transitions.succeed(held, stamp(world.ports.now()), _outcome(held))
        first, again = world.ports.tasks.apply(change), world.ports.tasks.apply(change)
        assert first == again
        assert world.ports.tasks.ledger(world.owner).succeeded == 1

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
            transitions.reopen(failed, stamp(world.ports.now()), _spent())
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
                transitions.reopen(failed, stamp(world.ports.now()), _spent(), room=1)
            )
        assert world.ports.tasks.get(failed.id) == failed
        assert world.ports.tasks.ledger(world.owner) == books
        again = transitions.reopen(failed, stamp(world.ports.now()), _spent(), room=2)
        world.ports.tasks.apply(again)
        assert world.ports.tasks.ledger(world.owner).active == {failed.id, other.id}

    def test_a_take_over_is_refused_while_the_holder_beats(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(_beat(held, world.ports.now()))
        with pytest.raises(Refused):
            world.ports.tasks.apply(
                transitions.take_over(held, stamp(world.ports.now() + 10), "w2")
            )
        later = stamp(world.ports.now() + held.limits.lease + 1)
        taken = world.ports.tasks.apply(transitions.take_over(held, later, "w2"))
        assert (taken.attempt, taken.budgets.crashes.spent) == (2, 1)

    def test_a_task_that_never_beat_can_be_taken_over(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        later = stamp(world.ports.now() + held.limits.lease + 1)
        assert world.ports.tasks.apply(transitions.take_over(held, later, "w2")).worker == "w2"

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
        world.ports.tasks.apply(transitions.reopen(failed, at, _spent()))
        assert failed.id not in self._problems(world, failed)

    def test_a_rearmed_clock_changes_nothing_else(self, world: World) -> None:
        task = world.new(State.QUEUED)
        look_at = world.ports.now() + 77_000
        after = world.ports.tasks.apply(rearmed(task, stamp(world.ports.now()), look_at))
        assert after == replace(task, due_at=look_at, version=task.version + 1, op_id=after.op_id)

    def test_a_list_is_newest_first_and_pages_to_the_end(self, world: World) -> None:
        made = [world.new() for _ in range(5)]
        first = world.ports.tasks.list_by_owner(world.owner, 2)
        assert [t.id for t in first.rows] == [made[4].id, made[3].id]
        seen, start = [], None
        while True:
            page = world.ports.tasks.list_by_owner(world.owner, 2, start)
            seen += [t.id for t in page.rows]
            start = page.next
            if start is None:
                break
        assert seen == [t.id for t in reversed(made)]

    def test_a_list_may_start_at_an_id_that_is_on_no_record(self, world: World) -> None:
        made = [world.new() for _ in range(3)]
        between = made[1].id + "0"  # behind the second one, before the third
        page = world.ports.tasks.list_by_owner(world.owner, 10, between)
        assert [t.id for t in page.rows] == [made[1].id, made[0].id]

    def test_a_beat_never_lets_progress_fall(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        now = world.ports.now()
        for progress, shown in ((0.2, 0.2), (0.8, 0.8), (0.4, 0.8)):
            pulse = world.ports.pulses.beat(_beat(held, now, progress))
            assert pulse.progress == pytest.approx(shown)

    def test_a_new_attempt_starts_its_progress_afresh(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(_beat(held, world.ports.now(), 0.9))
        pulse = world.ports.pulses.beat(_beat(replace(held, attempt=2), world.ports.now(), 0.1))
        assert pulse.attempt == 2
        assert pulse.progress == pytest.approx(0.1)

    def test_the_beat_of_an_older_attempt_is_refused(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(_beat(replace(held, attempt=2), world.ports.now()))
        with pytest.raises(LeaseLost):
            world.ports.pulses.beat(_beat(held, world.ports.now()))

    def test_a_beat_brings_the_signal_back(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.signal(held.id, Signal("cancel_hard", 1))
        assert world.ports.pulses.beat(_beat(held, world.ports.now())).signal == Signal(
            "cancel_hard", 1
        )

    def test_the_first_time_that_a_worker_had_a_word_stands_and_beats_leave_it(
        self, world: World
    ) -> None:
        held, pulses, now = world.claim(world.new(State.QUEUED)), world.ports.pulses, 7_000
        pulses.beat(_beat(held, world.ports.now()))
        for kind, at in (("cancel_soft", now), ("cancel_soft", now + 1), ("cancel_hard", now + 2)):
            pulses.acknowledge(held.id, Seen(kind, 1, at))
            assert pulses.beat(_beat(held, world.ports.now())).seen is not None
        assert pulses.get(held.id).seen_at("cancel_hard") == now + 2  # type: ignore[union-attr]
        pulses.acknowledge(held.id, Seen("cancel_hard", 1, now + 3))
        assert pulses.get(held.id).seen == Seen("cancel_hard", 1, now + 2)  # type: ignore[union-attr]
        newer = pulses.beat(_beat(replace(held, attempt=2), world.ports.now()))
        assert newer.seen_at("cancel_hard") is None
        pulses.acknowledge(held.id, Seen("lost", 1, now + 4))
        assert pulses.get(held.id) == newer

    def test_a_cancel_reads_back_with_its_handshake(self, world: World) -> None:
        request = CancelRequest(CancelMode.SOFT, ErrorCode.CANCELED_BY_USER, 5, "user:a|b", 6, 7)
        for cancel in (request, replace(request, enforced=True, seen_at=None)):
            task = world.new(State.CANCELED, cancel=cancel)
            assert world.ports.tasks.get(task.id) == task

    def test_a_signal_for_an_older_attempt_touches_nothing(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        newer = world.ports.pulses.beat(_beat(replace(held, attempt=2), world.ports.now()))
        world.ports.pulses.signal(held.id, Signal("lost", 1))
        assert world.ports.pulses.get(held.id) == newer

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


def _beat(task: Task, at: int, progress: float = 0.5) -> Pulse:
    return Pulse(
        task_id=task.id,
        attempt=task.attempt,
        worker="w1",
        beat_at=at,
        progress=progress,
        stage="embed",
    )


def _files(task: Task) -> tuple[ResultFile, ...]:
    key = f"r/{task.owner.tenant}/{task.id}/{task.attempt}/vectors.npy"
    return (ResultFile("vectors.npy", key, 123, bytes(range(32)), "application/octet-stream"),)


def _outcome(task: Task) -> Outcome:
    return Outcome(_files(task), '{"vectors":3}')


def _spent() -> Any:
    return task_in(State.QUEUED).budgets.spend(ErrorClass.CRASH)
