"""What every store of rates must do. Subclass it, give it `rates`, and pytest runs the promises."""

from __future__ import annotations

import pytest

from taskgate.ports import Rates
from taskgate.testing.clock import VirtualClock


class RatesConformance:
    """Promises of `Rates`."""

    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def rates(self, clock: VirtualClock) -> Rates:
        """An empty store on this clock."""
        raise NotImplementedError

    def test_a_burst_is_admitted_and_then_one_each_interval(
        self, rates: Rates, clock: VirtualClock
    ) -> None:
        assert [rates.admit("RATE#a", 1000, 3) for _ in range(3)] == [None, None, None]
        assert rates.admit("RATE#a", 1000, 3) == clock() + 1000
        clock.advance(1)
        assert rates.admit("RATE#a", 1000, 3) is None
        assert rates.admit("RATE#a", 1000, 3) == clock() + 1000

    def test_what_is_refused_takes_nothing(self, rates: Rates, clock: VirtualClock) -> None:
        assert rates.admit("RATE#a", 1000, 1) is None
        told = {rates.admit("RATE#a", 1000, 1) for _ in range(20)}
        assert told == {clock() + 1000}
        clock.advance(1)
        assert rates.admit("RATE#a", 1000, 1) is None

    def test_the_time_that_is_told_is_when_it_is_admitted(
        self, rates: Rates, clock: VirtualClock
    ) -> None:
        while (again := rates.admit("RATE#a", 700, 4)) is None:
            pass
        clock.advance((again - clock() - 1) / 1000)
        assert rates.admit("RATE#a", 700, 4) == again
        clock.advance(0.001)
        assert rates.admit("RATE#a", 700, 4) is None

    def test_a_long_rest_gives_no_more_than_the_burst(
        self, rates: Rates, clock: VirtualClock
    ) -> None:
        for _ in range(3):
            assert rates.admit("RATE#a", 1000, 2) is None
            assert rates.admit("RATE#a", 1000, 2) is None
            assert rates.admit("RATE#a", 1000, 2) is not None
            clock.advance(86_400)

    def test_one_users_rate_is_not_anothers(self, rates: Rates) -> None:
        assert rates.admit("RATE#a", 1000, 1) is None
        assert rates.admit("RATE#a", 1000, 1) is not None
        assert rates.admit("RATE#b", 1000, 1) is None

    def test_a_reserved_slot_is_never_refused_and_each_is_later(
        self, rates: Rates, clock: VirtualClock
    ) -> None:
        slots = [rates.reserve("RETRY#t", 1000, 2) for _ in range(4)]
        assert slots == [clock(), clock(), clock() + 1000, clock() + 2000]
