"""The records of receivers keep their promises in memory and on DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.receivers import KEPT_SECONDS, DynamoReceivers
from taskgate.receivers import Health, Receivers
from taskgate.testing import aws_resources
from taskgate.testing.clock import VirtualClock
from taskgate.testing.conformance.receivers import ILL, ReceiversConformance, listed
from taskgate.testing.memory.receivers import MemoryReceivers

CLOCK = VirtualClock()


@pytest.fixture(scope="module")
def on_dynamo() -> Iterator[DynamoReceivers]:
    with mock_aws():
        environment = aws_resources.create("receivers")
        client = clients.dynamodb()
        yield DynamoReceivers(client, table=environment.ephemeral_table, now=CLOCK)
        client.close()


class TestMemoryReceivers(ReceiversConformance):
    @pytest.fixture
    def receivers(self) -> Receivers:
        return MemoryReceivers()


class TestDynamoReceivers(ReceiversConformance):
    @pytest.fixture
    def receivers(self, on_dynamo: DynamoReceivers) -> Receivers:
        return on_dynamo

    def test_a_record_past_its_time_counts_as_gone_and_can_be_written_over(
        self, receivers: Receivers, receiver: str
    ) -> None:
        receivers.swap(receiver, Health(), ILL)
        CLOCK.advance(KEPT_SECONDS)
        seen = receivers.get(receiver)
        assert (seen.failures, seen.is_open) == (0, False)
        assert receiver not in {r.receiver for r in listed(receivers, 100)}
        assert receivers.swap(receiver, seen, Health(failures=1))
        assert receivers.get(receiver).failures == 1
