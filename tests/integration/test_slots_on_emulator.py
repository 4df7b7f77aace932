"""The slots on the emulator, where threads really meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.aws import clients
from taskgate.aws.slots import DynamoSlots
from taskgate.settings import Environment
from taskgate.testing.conformance.slots import KEY, SlotsConformance


class TestDynamoSlotsOnEmulator(SlotsConformance):
    @pytest.fixture
    def slots(self, environment: Environment) -> Iterator[DynamoSlots]:
        client, table = clients.dynamodb(), environment.ephemeral_table
        client.delete_item(TableName=table, Key={"pk": {"S": KEY}})
        client.delete_item(TableName=table, Key={"pk": {"S": "SLOTS#tenant#other"}})
        yield DynamoSlots(client, table=table, now=lambda: 1)
        client.close()
