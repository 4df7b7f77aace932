"""Both stores of slots keep the same promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.slots import DynamoSlots
from taskgate.slots import MOST_SLOTS, Slot, Slots
from taskgate.testing import aws_resources
from taskgate.testing.conformance.slots import KEY, SlotsConformance
from taskgate.testing.memory.slots import MemorySlots


class TestMemorySlots(SlotsConformance):
    @pytest.fixture
    def slots(self) -> Slots:
        return MemorySlots()


class TestDynamoSlotsOnMoto(SlotsConformance):
    @pytest.fixture
    def slots(self) -> Iterator[DynamoSlots]:
        with mock_aws():
            aws_resources.create("slots")
            yield DynamoSlots(clients.dynamodb(), table="slots-ephemeral", now=lambda: 1)

    def test_of_many_at_once_exactly_as_many_get_a_slot_as_there_are(self, slots: Slots) -> None:
        pytest.skip("moto is not made for threads; tests/integration asks the emulator")

    def test_a_full_item_is_small(self, slots: DynamoSlots) -> None:
        for number in range(MOST_SLOTS):
            task_id = f"task_01ARZ3NDEKTSV4RRFFQ69G5{number:03d}"
            assert slots.take(KEY, task_id, Slot(1, 1_790_000_000_000), MOST_SLOTS) is None
        item = slots._client.get_item(TableName="slots-ephemeral", Key={"pk": {"S": KEY}})["Item"]
        assert len(str(item)) < 10_000
