"""Both rosters keep the same promises; DynamoDB's is read without a scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.roster import DynamoRoster
from taskgate.roster import Roster
from taskgate.testing import aws_resources
from taskgate.testing.clock import VirtualClock
from taskgate.testing.conformance.roster import IDLE, SIGN, RosterConformance
from taskgate.testing.memory.roster import MemoryRoster


class TestMemoryRoster(RosterConformance):
    @pytest.fixture
    def roster(self, clock: VirtualClock) -> Roster:
        return MemoryRoster(clock)


class TestDynamoRosterOnMoto(RosterConformance):
    @pytest.fixture
    def roster(self, clock: VirtualClock) -> Iterator[DynamoRoster]:
        with mock_aws():
            aws_resources.create("roster")
            yield DynamoRoster(clients.dynamodb(), table="roster-ephemeral", now=clock)

    def test_a_sign_is_one_call_and_a_look_is_two(self, roster: DynamoRoster) -> None:
        calls: list[str] = []

        def called(model: Any, **_: Any) -> None:
            calls.append(model.name)

        roster._client.meta.events.register("before-call", called)
        roster.join("gpu", SIGN.worker)
        assert calls == ["UpdateItem"]
        calls.clear()
        roster.report(SIGN)
        assert calls == ["UpdateItem"]
        calls.clear()
        roster.join("gpu", IDLE.worker)
        assert calls == ["UpdateItem", "BatchGetItem"]
        calls.clear()
        assert list(roster.present(["gpu", "cpu"])) == [SIGN]
        assert calls == ["BatchGetItem", "BatchGetItem"]
