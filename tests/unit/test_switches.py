"""The switches: both stores keep the same promises, and a switch says what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.switches import DynamoSwitches
from taskgate.switches import MAX_ACTS, Act, Kind, Switch, Switches, SwitchStore
from taskgate.testing import aws_resources
from taskgate.testing.conformance.switches import SwitchesConformance
from taskgate.testing.memory.switches import MemorySwitches

LANE = Switch(kind=Kind.LANE, name="gpu-low")
PAUSE = Act(100, "operator:olga/aws", "pause", "the driver")


class TestMemorySwitches(SwitchesConformance):
    @pytest.fixture
    def store(self) -> SwitchStore:
        return MemorySwitches()


class TestDynamoSwitchesOnMoto(SwitchesConformance):
    @pytest.fixture
    def store(self) -> Iterator[DynamoSwitches]:
        with mock_aws():
            environment = aws_resources.create("switches")
            yield DynamoSwitches(clients.dynamodb(), table=environment.tasks_table)

    def test_nothing_makes_the_item_expire(self, store: SwitchStore) -> None:
        assert store.write_switches(Switches().with_(LANE.turned(PAUSE)))
        client = clients.dynamodb()
        (item,) = client.scan(TableName=store._table)["Items"]  # type: ignore[attr-defined]
        client.close()
        assert set(item) == {"pk", "sk", "version", "switches"}


def test_a_pause_with_an_end_ends_by_itself() -> None:
    switch = LANE.turned(PAUSE, until=200)
    assert [switch.on(at) for at in (100, 199, 200)] == [True, True, False]
    assert [switch.held_at(at) for at in (150, 250)] == [150, 200]


def test_a_second_pause_keeps_the_moment_of_the_first_and_says_the_newer_reason() -> None:
    switch = LANE.turned(PAUSE).turned(Act(150, "operator:bo/aws", "pause", "still"))
    assert (switch.since, switch.by, switch.reason) == (100, "operator:bo/aws", "still")
    assert [act.at for act in switch.acts] == [100, 150]


def test_a_switch_remembers_its_last_acts_and_no_more() -> None:
    switch = LANE
    for at in range(MAX_ACTS + 7):
        switch = switch.turned(replace(PAUSE, at=at))
    assert [act.at for act in switch.acts] == list(range(7, MAX_ACTS + 7))


def test_what_was_never_paused_was_never_held() -> None:
    assert Switches().held_at("gpu-low", "a", 100) is None
    resumed = LANE.turned(PAUSE).turned(Act(300, "o", "resume"))
    assert Switches().with_(resumed).held_at("gpu-low", "a", 999) == 300
