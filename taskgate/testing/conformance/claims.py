"""One worker holds a task, and only one that may."""

from __future__ import annotations

import pytest

from taskgate.errors import Refused
from taskgate.lifecycle import transitions
from taskgate.lifecycle.states import State
from taskgate.testing.conformance.world import World, pulse_of
from taskgate.testing.factories import stamp


class ClaimsConformance:
    """One worker holds a task, and only one that may."""

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

    def test_a_take_over_is_refused_while_the_holder_beats(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(pulse_of(held, world.ports.now()))
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
