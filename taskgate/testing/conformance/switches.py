"""What every switch store must do. Subclass it, give it `store`, and pytest runs the promises."""

from __future__ import annotations

import pytest

from taskgate.switches import MAX_ACTS, Act, Kind, Switch, Switches, SwitchStore

LANE = Switch(kind=Kind.LANE, name="gpu-low").turned(Act(5, "operator:olga", "pause", "é"))
TYPE = Switch(kind=Kind.TYPE, name="a").turned(Act(6, "o", "pause"), until=9, refuse=True)


class SwitchesConformance:
    """Promises of `SwitchStore`."""

    @pytest.fixture
    def store(self) -> SwitchStore:
        """An empty store."""
        raise NotImplementedError

    def test_before_any_act_nothing_is_paused(self, store: SwitchStore) -> None:
        assert store.read_switches() == Switches()

    def test_switches_read_back_as_they_were_turned(self, store: SwitchStore) -> None:
        written = Switches().with_(LANE).with_(TYPE)
        assert store.write_switches(written)
        assert store.read_switches() == Switches(1, {LANE.key: LANE, TYPE.key: TYPE})

    def test_of_two_acts_on_one_version_only_the_first_is_written(self, store: SwitchStore) -> None:
        assert store.write_switches(Switches().with_(LANE))
        assert not store.write_switches(Switches().with_(TYPE))
        seen = store.read_switches()
        assert store.write_switches(seen.with_(TYPE))
        assert not store.write_switches(seen)
        assert set(store.read_switches().by_key) == {LANE.key, TYPE.key}

    def test_all_switches_of_a_large_deployment_fit(self, store: SwitchStore) -> None:
        many = Switches()
        for number in range(100):
            switch = Switch(kind=Kind.TYPE, name=f"type-{number}" + "x" * 50)
            for at in range(MAX_ACTS + 5):
                switch = switch.turned(Act(at, "operator:" + "o" * 40, "pause", "w" * 60))
            many = many.with_(switch)
        assert store.write_switches(many)
        assert store.read_switches().by_key == many.by_key
