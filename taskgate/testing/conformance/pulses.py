"""A pulse is its attempt's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.errors import LeaseLost
from taskgate.lifecycle.states import State
from taskgate.ports import Seen, Signal
from taskgate.testing.conformance.world import World, pulse_of


class PulsesConformance:
    """A pulse is its attempt's own."""

    def test_a_beat_never_lets_progress_fall(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        now = world.ports.now()
        for progress, shown in ((0.2, 0.2), (0.8, 0.8), (0.4, 0.8)):
            pulse = world.ports.pulses.beat(pulse_of(held, now, progress))
            assert pulse.progress == pytest.approx(shown)

    def test_a_new_attempt_starts_its_progress_afresh(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(pulse_of(held, world.ports.now(), 0.9))
        pulse = world.ports.pulses.beat(pulse_of(replace(held, attempt=2), world.ports.now(), 0.1))
        assert pulse.attempt == 2
        assert pulse.progress == pytest.approx(0.1)

    def test_the_beat_of_an_older_attempt_is_refused(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.beat(pulse_of(replace(held, attempt=2), world.ports.now()))
        with pytest.raises(LeaseLost):
            world.ports.pulses.beat(pulse_of(held, world.ports.now()))

    def test_a_beat_brings_the_signal_back(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        world.ports.pulses.signal(held.id, Signal("cancel_hard", 1))
        assert world.ports.pulses.beat(pulse_of(held, world.ports.now())).signal == Signal(
            "cancel_hard", 1
        )

    def test_the_first_time_that_a_worker_had_a_word_stands_and_beats_leave_it(
        self, world: World
    ) -> None:
        held, pulses, now = world.claim(world.new(State.QUEUED)), world.ports.pulses, 7_000
        pulses.beat(pulse_of(held, world.ports.now()))
        for kind, at in (("cancel_soft", now), ("cancel_soft", now + 1), ("cancel_hard", now + 2)):
            pulses.acknowledge(held.id, Seen(kind, 1, at))
            assert pulses.beat(pulse_of(held, world.ports.now())).seen is not None
        assert pulses.get(held.id).seen_at("cancel_hard") == now + 2  # type: ignore[union-attr]
        pulses.acknowledge(held.id, Seen("cancel_hard", 1, now + 3))
        assert pulses.get(held.id).seen == Seen("cancel_hard", 1, now + 2)  # type: ignore[union-attr]
        newer = pulses.beat(pulse_of(replace(held, attempt=2), world.ports.now()))
        assert newer.seen_at("cancel_hard") is None
        pulses.acknowledge(held.id, Seen("lost", 1, now + 4))
        assert pulses.get(held.id) == newer

    def test_a_signal_for_an_older_attempt_touches_nothing(self, world: World) -> None:
        held = world.claim(world.new(State.QUEUED))
        newer = world.ports.pulses.beat(pulse_of(replace(held, attempt=2), world.ports.now()))
        world.ports.pulses.signal(held.id, Signal("lost", 1))
        assert world.ports.pulses.get(held.id) == newer

    @pytest.mark.parametrize("late", ["cancel_soft", "deadline", "cancel_hard"])
    def test_a_word_that_comes_late_takes_no_stronger_one_back(
        self, world: World, late: str
    ) -> None:
        held, pulses = world.claim(world.new(State.QUEUED)), world.ports.pulses
        for kind in ("cancel_soft", late, "lost", late):
            pulses.signal(held.id, Signal(kind, 1))
        assert pulses.beat(pulse_of(held, world.ports.now())).signal == Signal("lost", 1)
        pulses.signal(held.id, Signal(late, 2))
        assert pulses.get(held.id).signal == Signal(late, 2)  # type: ignore[union-attr]

    def test_the_word_of_a_soft_cancel_takes_the_place_of_an_extensions_and_keeps_it(
        self, world: World
    ) -> None:
        held, pulses = world.claim(world.new(State.QUEUED)), world.ports.pulses
        for kind in ("deadline", "cancel_soft", "deadline"):
            pulses.signal(held.id, Signal(kind, 1))
        assert pulses.beat(pulse_of(held, world.ports.now())).signal == Signal("cancel_soft", 1)
