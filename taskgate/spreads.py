"""How long tasks lately waited and ran, as counts in buckets; and the port that keeps the counts.

A bucket is a factor of the square root of 2 wide, so a quantile is right within that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

SHORTEST_MS: Final = 100
BUCKETS: Final = 44
"""The last one begins at three days, and holds all that is longer."""
LEAST: Final = 20
"""Of fewer samples nothing is said."""
DAY_MS: Final = 86_400_000


def bucket_of(ms: float) -> int:
    """Bucket 0 is up to `SHORTEST_MS`; each other one ends at √2 times the end of the one before."""
    if ms <= SHORTEST_MS:
        return 0
    return min(BUCKETS - 1, math.ceil(2 * math.log2(ms / SHORTEST_MS)))


def end_of(bucket: int) -> int:
    """The longest span of a bucket, in ms."""
    return round(SHORTEST_MS * 2 ** (bucket / 2))


@dataclass(frozen=True, slots=True)
class Spread:
    """How many spans fell into each bucket."""

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        return sum(self.counts.values())

    def quantile(self, part: float) -> int | None:
        """So long, in ms, or less did that part of them take; None when there are too few."""
        if self.samples < LEAST:
            return None
        left = math.ceil(part * self.samples)
        for bucket in sorted(self.counts):
            left -= self.counts[bucket]
            if left <= 0:
                return end_of(bucket)
        return None

    def __add__(self, other: Spread) -> Spread:
        keys = self.counts.keys() | other.counts.keys()
        return Spread({k: self.counts.get(k, 0) + other.counts.get(k, 0) for k in keys})


@dataclass(frozen=True, slots=True)
class Spans:
    """Of the tasks of one type in one lane."""

    waits: Spread = Spread()
    runs: Spread = Spread()

    def __add__(self, other: Spans) -> Spans:
        return Spans(self.waits + other.waits, self.runs + other.runs)


class Spreads(Protocol):
    """The counts, by task type, lane and day. May raise `Unavailable`."""

    def add(self, kind: str, lane: str, spans: Spans) -> None:
        """Count these too, today: 1 call."""

    def lately(self, kind: str, lane: str) -> Spans:
        """Those of today and yesterday: 1 call."""
