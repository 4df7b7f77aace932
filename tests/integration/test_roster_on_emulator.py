"""The roster on the emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.aws import clients
from taskgate.aws.roster import DynamoRoster
from taskgate.settings import Environment
from taskgate.testing.clock import VirtualClock
from taskgate.testing.conformance.roster import RosterConformance


class TestDynamoRosterOnEmulator(RosterConformance):
    @pytest.fixture
    def roster(self, environment: Environment, clock: VirtualClock) -> Iterator[DynamoRoster]:
        client, table = clients.dynamodb(), environment.ephemeral_table
        for pool in ("gpu", "cpu"):
            client.delete_item(TableName=table, Key={"pk": {"S": f"WORKERS#{pool}"}})
        yield DynamoRoster(client, table=table, now=clock)
        client.close()
