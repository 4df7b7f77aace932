"""Both stores of rates keep the same promises; DynamoDB's is asked once for nearly every submit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.rates import REMEMBERED, DynamoRates
from taskgate.ports import Rates
from taskgate.testing import aws_resources
from taskgate.testing.clock import VirtualClock
from taskgate.testing.conformance.rates import RatesConformance
from taskgate.testing.memory.rates import MemoryRates


class TestMemoryRates(RatesConformance):
    @pytest.fixture
    def rates(self, clock: VirtualClock) -> Rates:
        return MemoryRates(clock)


class TestDynamoRatesOnMoto(RatesConformance):
    @pytest.fixture
    def rates(self, clock: VirtualClock) -> Iterator[DynamoRates]:
        with mock_aws():
            aws_resources.create("rates")
            yield DynamoRates(clients.dynamodb(), table="rates-ephemeral", now=clock)

    @pytest.fixture
    def calls(self, rates: DynamoRates) -> list[str]:
        made: list[str] = []

        def called(model: Any, **_: Any) -> None:
            made.append(model.name)

        rates._client.meta.events.register("before-call", called)
        return made

    def test_each_answer_costs_one_call_where_one_process_asks(
        self, rates: DynamoRates, calls: list[str], clock: VirtualClock
    ) -> None:
        for _ in range(10):
            rates.admit("RATE#a", 1000, 5)
        clock.advance(60)
        rates.admit("RATE#a", 1000, 5)
        assert calls == ["UpdateItem"] * 11

    def test_a_process_that_knows_nothing_is_put_right_by_the_refusal(
        self, rates: DynamoRates, calls: list[str], clock: VirtualClock
    ) -> None:
        other = DynamoRates(rates._client, table="rates-ephemeral", now=clock)
        assert rates.admit("RATE#a", 1000, 3) is None
        calls.clear()
        assert other.admit("RATE#a", 1000, 3) is None
        assert len(calls) == 2
        assert rates.admit("RATE#a", 1000, 3) is None
        assert rates.admit("RATE#a", 1000, 3) == other.admit("RATE#a", 1000, 3) == clock() + 1000

    def test_what_a_process_remembers_is_bounded(self, rates: DynamoRates) -> None:
        for number in range(REMEMBERED + 50):
            rates._remember(f"RATE#{number}", 1)
        assert len(rates._busy) == REMEMBERED

    def test_a_bucket_is_kept_until_it_is_empty(
        self, rates: DynamoRates, clock: VirtualClock
    ) -> None:
        hour_long = 60_000
        for _ in range(200):
            assert rates.admit("RATE#slow", hour_long, 500) is None
        item = rates._client.get_item(TableName="rates-ephemeral", Key={"pk": {"S": "RATE#slow"}})
        assert int(item["Item"]["expires_at"]["N"]) * 1000 > clock() + 200 * hour_long
