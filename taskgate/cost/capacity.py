"""How much of each service a steady load uses, and how near that is to what AWS gives by default.

Calls and units of each flow are measured (`budgets.json`), as in the bill; the defaults are those that
stood in AWS's pages and service models when this was written. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from taskgate.cost.bill import bill
from taskgate.cost.flows import Measured
from taskgate.cost.wish import Wish
from taskgate.settings import stage

MONTH: Final = 30 * 86_400
LOADS: Final = (1, 1_000, 10_000, 100_000)
"""Submits a second."""
ONCE: Final = ("submit", "claim", "finish", "callback", "result")
CLOCK_MOVES: Final = 5
"""Writes of a task that move its clock: submit, queued, claimed, ended, settled. Each is one write to a
shard of `by_clock`, and one more when it leaves its place there."""
PARTITION_WRITES: Final = 1_000
"""A second, in one partition of a table or of an index."""


@dataclass(frozen=True, slots=True)
class Use:
    """So much of one thing in a second (or at a time), and what there is of it by default."""

    what: str
    amount: float
    limit: float | None
    limited_by: str

    @property
    def beyond(self) -> bool:
        return self.limit is not None and self.amount > self.limit


def uses(load: float, known: Measured, wish: Wish) -> Iterator[Use]:
    """At `load` submits a second; polls, run time and the rest are those of the wish."""
    flows, polls = known.flows, wish.polls
    beats = wish.run_seconds // stage("prod").timing.beat
    times = {**dict.fromkeys(ONCE, 1.0), "status": polls, "beat": beats}
    writes = sum(flows[flow].write_units * n for flow, n in times.items())
    reads = sum(flows[flow].read_units * n for flow, n in times.items())
    requests = 2 + polls
    queued = sum(flows[f].requests("sqs") * n for f, n in times.items()) + 2
    running = (requests * wish.api_ms + wish.outbox_ms) / 1000
    shards = stage("prod").clock_shards
    yield Use("HTTP requests a second", load * requests, 10_000, "account, per Region")
    yield Use("Lambda functions running at a time", load * running, None, "account: see yours")
    yield Use("DynamoDB write units a second", load * writes, 40_000, "a table's quota")
    yield Use("the same, of a new table", load * writes, 4_000, "what is warm at first")
    yield Use("DynamoDB read units a second", load * reads, 40_000, "a table's quota")
    yield Use(
        f"moves of clocks a second in one of {shards} shards",
        load * CLOCK_MOVES / shards,
        PARTITION_WRITES,
        "one partition",
    )
    yield Use("SQS calls a second", load * queued, None, "none for standard queues")
    yield Use("messages in flight, all in one lane", load * wish.run_seconds, 120_000, "a queue")
    yield Use("results stored a second", load, None, "not in our notes: ask before you need it")
    yield Use(
        "workers, each busy all the time", load * wish.run_seconds, None, "GPU vCPUs: often 0"
    )


def dollars(load: float, wish: Wish) -> float:
    """A month at that load, without GPUs."""
    return bill(replace(wish, tasks=load * MONTH, gpu=None)).total


def rows(known: Measured, wish: Wish) -> Iterator[tuple[str, ...]]:
    """The table: a row a thing, a column a load; what is beyond the default is bold."""
    for same in zip(*(uses(load, known, wish) for load in LOADS), strict=True):
        first = same[0]
        limit = "–" if first.limit is None else short(first.limit)
        cells = (f"**{short(u.amount)}**" if u.beyond else short(u.amount) for u in same)
        yield (first.what, *cells, f"{limit} ({first.limited_by})")
    yield ("dollars a month, without GPUs", *(short(dollars(x, wish)) for x in LOADS), "–")


def short(number: float) -> str:
    """Two figures are what such a number is worth."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{_two(number / size)}{letter}"
    return _two(number)


def _two(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}".removesuffix(".0")
