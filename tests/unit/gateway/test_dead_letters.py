"""Dead letters over the in-memory ports: each is kept, and its task gets what it needs, once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.office import dead_letters
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.gateway.steer import operating
from taskgate.lifecycle.change import rearmed
from taskgate.lifecycle.letters import LetterStep, judge_letter
from taskgate.lifecycle.retry import Budget, Budgets, ErrorCode
from taskgate.lifecycle.states import ENDED, HELD, LIVE, State
from taskgate.ports import Message
from taskgate.task import Task
from taskgate.testing.factories import OWNER, stamp, task_in
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.audit import MemoryArchive
from tests.unit.gateway.test_sweeping import put, sweep_for
from tests.unit.gateway.test_worker_gateway import CATALOG, LANE, WHO, claimed, gateway, submitted

WAITING = [State.CREATED, State.QUEUED, State.RETRYING]


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def archive() -> MemoryArchive:
    return MemoryArchive()


def letter(world: MemoryWorld, number: int = 1) -> DeadLetter:
    return DeadLetter(
        id=f"m{number}", lane=LANE, body="the body", receives=10, sent_at=world.clock()
    )


def answered(world: MemoryWorld, archive: MemoryArchive, task: Task, number: int = 1) -> str:
    message = Message(task.id, task.attempt)
    return dead_letters.answer(world.ports, archive, letter(world, number), message)


def lost(world: MemoryWorld) -> Task:
    """A submitted task whose message is gone from its lane."""
    task = submitted(world)
    world.lanes.queues[LANE].clear()
    return world.tasks.tasks[task.id]


def test_a_never_run_tasks_dead_message_is_answered_by_a_fresh_one(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = lost(world)
    assert answered(world, archive, task) == LetterStep.RESEND
    assert claimed(world).task.id == task.id


def test_the_fresh_one_dies_too_and_the_task_ends_as_poison_with_its_books_balanced(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = lost(world)
    answered(world, archive, task)
    world.lanes.queues[LANE].clear()
    assert answered(world, archive, task, 2) == LetterStep.BURY
    ended = world.tasks.tasks[task.id]
    assert (ended.state, ended.due_at) == (State.FAILED, None)
    assert ended.error is not None
    assert ended.error.code is ErrorCode.POISON
    assert ended.history[-1].actor == dead_letters.ACTOR
    assert world.tasks.ledger(OWNER).balanced
    assert world.tasks.ledger(OWNER).failed == 1


def test_a_reopened_task_has_a_fresh_message_again(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = lost(world)
    for number in (1, 2):
        answered(world, archive, task, number)
    reopened = operating.reopen(world.ports, CATALOG, WHO, task.id, "the handler is fixed")
    assert answered(world, archive, reopened, 3) == LetterStep.RESEND


@pytest.mark.parametrize("state", WAITING)
def test_a_waiting_task_is_sent_afresh_in_each_state_and_its_clock_stands(
    world: MemoryWorld, archive: MemoryArchive, state: State
) -> None:
    task = put(world, task_in(state, at=world.clock()))
    assert answered(world, archive, task) == LetterStep.RESEND
    after = world.tasks.tasks[task.id]
    assert after.state is (State.QUEUED if state is State.CREATED else state)
    assert after.due_at is not None
    assert after.due_at > world.clock()
    assert world.lanes.total() == 1


def test_a_fresh_message_of_a_retry_does_not_come_before_its_time(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    not_before = world.clock() + 60_000
    task = put(world, task_in(State.RETRYING, at=world.clock(), not_before=not_before))
    answered(world, archive, task)
    assert not world.lanes.receive(LANE)
    world.clock.advance(60)
    assert world.lanes.receive(LANE)


def test_a_task_that_spent_its_crashes_is_not_sent_afresh(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    spent = Budgets(Budget(3), Budget(2, 2), Budget(20))
    task = put(world, task_in(State.RETRYING, at=world.clock(), budgets=spent))
    assert answered(world, archive, task) == LetterStep.BURY


def test_a_task_that_a_live_worker_holds_is_left_alone(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = submitted(world)
    held = claimed(world)
    before = world.tasks.tasks[task.id]
    assert answered(world, archive, task) == LetterStep.LEAVE
    assert world.tasks.tasks[task.id] == before
    assert gateway(world).succeed(held, [], None).state is State.SUCCEEDED


@pytest.mark.parametrize("state", sorted(ENDED | HELD | {State.SCHEDULED, State.PAUSED}))
def test_a_task_that_waits_for_no_message_is_left_as_it_is(state: State) -> None:
    assert judge_letter(task_in(state), "m1", 1, task_in(state).since).step is LetterStep.LEAVE


def test_an_old_message_of_a_task_that_was_claimed_since_ends_nothing() -> None:
    task = task_in(State.RETRYING)
    assert judge_letter(task, "m1", task.attempt - 1, task.since).step is LetterStep.LEAVE


def test_a_task_whose_waiting_is_over_is_left_to_its_clock_and_times_out_honestly() -> None:
    """Once it had its fresh message: whether a switch holds it back, the letter does not tell."""
    task = task_in(State.QUEUED)
    assert judge_letter(task, "m1", 0, task.queue_ends_at).step is LetterStep.RESEND
    resent = replace(task, resent_in=task.generation, resent_for="m1")
    assert judge_letter(resent, "m2", 0, task.queue_ends_at - 1).step is LetterStep.BURY
    assert judge_letter(resent, "m2", 0, task.queue_ends_at).step is LetterStep.LEAVE
    assert judge_letter(task, "m1", 0, task.deadline_at).step is LetterStep.LEAVE


@pytest.mark.parametrize("state", sorted(LIVE))
def test_no_task_waits_for_ever_after_a_dead_letter(
    world: MemoryWorld, archive: MemoryArchive, state: State
) -> None:
    task = put(world, task_in(state, at=world.clock()))
    answered(world, archive, task)
    sweep_for(world, 25 * 3600, period=900)
    assert world.state(task.id).ended


def test_a_letter_is_kept_even_when_nothing_else_can_be_done(
    world: MemoryWorld, archive: MemoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable

    task = lost(world)
    monkeypatch.setattr(world.lanes, "send", fails)
    with pytest.raises(Unavailable):
        answered(world, archive, task)
    assert world.tasks.tasks[task.id].resent_in is None  # the one fresh message is not used up
    assert json.loads(archive.texts[letter(world).key])["body"] == "the body"


def test_a_letter_that_is_delivered_twice_is_not_taken_for_a_second_one(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = lost(world)
    assert answered(world, archive, task) == LetterStep.RESEND
    assert answered(world, archive, task) == LetterStep.LEAVE
    assert world.state(task.id) is State.QUEUED
    assert (world.lanes.total(), len(archive.texts)) == (1, 1)


def test_the_same_letter_twice_is_kept_once_and_does_no_harm(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    task = submitted(world)
    gateway(world).succeed(claimed(world), [], None)
    for _ in range(2):
        assert answered(world, archive, task) == LetterStep.LEAVE
    assert list(archive.texts) == [letter(world).key]


def test_what_is_no_message_of_ours_is_kept_and_said(
    world: MemoryWorld, archive: MemoryArchive
) -> None:
    found = letter(world)
    assert dead_letters.answer(world.ports, archive, found, None) == dead_letters.UNREADABLE
    assert found.key in archive.texts
    assert found.pool == "cpu"


def test_a_task_that_moves_while_its_letter_is_answered_is_judged_anew(
    world: MemoryWorld, archive: MemoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = lost(world)
    send = world.lanes.send

    def claimed_meanwhile(lane: str, message: Message, delay: int = 0) -> None:
        send(lane, message, delay)
        claimed(world)

    monkeypatch.setattr(world.lanes, "send", claimed_meanwhile)
    assert answered(world, archive, task) == LetterStep.LEAVE
    assert world.state(task.id) is State.PROCESSING


def test_losing_every_race_leaves_the_letter_in_its_queue(
    world: MemoryWorld, archive: MemoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = lost(world)

    def moved_meanwhile(*_: object) -> None:
        current = world.tasks.tasks[task.id]
        world.tasks.apply(rearmed(current, stamp(world.clock())))

    monkeypatch.setattr(world.lanes, "send", moved_meanwhile)
    with pytest.raises(Unavailable):
        answered(world, archive, task)


@pytest.mark.parametrize("state", WAITING)
def test_a_dead_letter_of_a_lane_that_the_task_has_left_says_nothing_of_it(state: State) -> None:
    task = task_in(state)
    left = judge_letter(task, "m1", task.attempt, task.since, lane="cpu-high")
    assert left.step is LetterStep.LEAVE
    assert "moved" in left.reason
    here = judge_letter(task, "m1", task.attempt, task.since, lane=task.lane)
    assert here.step is LetterStep.RESEND
