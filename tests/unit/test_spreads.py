"""Quantiles are right within a bucket's width, and nothing is said of too few."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.spreads import DynamoSpreads
from taskgate.spreads import (
    BUCKETS,
    DAY_MS,
    LEAST,
    SHORTEST_MS,
    Spans,
    Spread,
    Spreads,
    bucket_of,
    end_of,
)
from taskgate.testing import aws_resources
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory.spreads import MemorySpreads


def spread(samples: list[float]) -> Spread:
    return Spread(Counter(map(bucket_of, samples)))


def exact(samples: list[float], part: float) -> float:
    return sorted(samples)[math.ceil(part * len(samples)) - 1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("part", [0.5, 0.9, 0.99])
def test_a_quantile_is_right_within_the_width_of_a_bucket(seed: int, part: float) -> None:
    chance = random.Random(seed)
    samples = [chance.lognormvariate(chance.uniform(6, 12), 1.5) for _ in range(LEAST + seed * 50)]
    samples = [max(ms, SHORTEST_MS + 1) for ms in samples]
    told, true = spread(samples).quantile(part), exact(samples, part)
    assert told is not None
    assert true <= told + 1
    assert told <= true * math.sqrt(2) + 1


def test_every_span_has_a_bucket_whose_end_it_does_not_pass() -> None:
    for ms in (0, 1, 100, 101, 141, 142, 1000, 60_000, 3_600_000, 86_400_000):
        bucket = bucket_of(ms)
        assert ms <= end_of(bucket) + 1
        assert bucket == 0 or ms > end_of(bucket - 1) - 1
    assert bucket_of(10**12) == BUCKETS - 1


def test_of_too_few_nothing_is_said() -> None:
    assert spread([1000.0] * (LEAST - 1)).quantile(0.5) is None
    assert spread([1000.0] * LEAST).quantile(0.5) == end_of(bucket_of(1000))
    assert Spread().quantile(0.9) is None


class SpreadsConformance:
    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def spreads(self, clock: VirtualClock) -> Spreads:
        raise NotImplementedError

    def test_what_was_counted_is_told_by_type_and_lane(self, spreads: Spreads) -> None:
        spans = Spans(Spread({3: 2, 7: 1}), Spread({5: 4}))
        spreads.add("a", "gpu-high", spans)
        spreads.add("a", "gpu-high", Spans(Spread({3: 1})))
        assert spreads.lately("a", "gpu-high") == Spans(Spread({3: 3, 7: 1}), Spread({5: 4}))
        assert spreads.lately("a", "gpu-low") == Spans()
        assert spreads.lately("b", "gpu-high") == Spans()
        spreads.add("b", "gpu-high", Spans())
        assert spreads.lately("b", "gpu-high") == Spans()

    def test_what_is_older_than_yesterday_counts_no_more(
        self, spreads: Spreads, clock: VirtualClock
    ) -> None:
        spreads.add("a", "gpu-high", Spans(Spread({3: 1})))
        clock.advance(DAY_MS / 1000)
        spreads.add("a", "gpu-high", Spans(Spread({3: 1})))
        assert spreads.lately("a", "gpu-high").waits.samples == 2
        clock.advance(DAY_MS / 1000)
        assert spreads.lately("a", "gpu-high").waits.samples == 1


class TestMemorySpreads(SpreadsConformance):
    @pytest.fixture
    def spreads(self, clock: VirtualClock) -> Spreads:
        return MemorySpreads(clock)


class TestDynamoSpreadsOnMoto(SpreadsConformance):
    @pytest.fixture
    def spreads(self, clock: VirtualClock) -> Iterator[Spreads]:
        with mock_aws():
            aws_resources.create("spreads")
            yield DynamoSpreads(clients.dynamodb(), table="spreads-ephemeral", now=clock)
