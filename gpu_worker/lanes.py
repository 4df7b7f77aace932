"""Which lane is asked next: urgent work mostly first, and low work never starved.

Busy, a worker asks the lanes without waiting, in an order that puts high first in 5 turns of 8,
normal in 2 and low in 1: under any load, at least every eighth start is a low task if one waits.
Priority orders starts only; a long low task that runs is not interrupted by a high one.

Idle, a worker listens at one lane at a time, `watch` seconds each, in turn. SQS cannot listen at
three queues at once, and three calls in parallel would receive messages that a worker which has just
become busy must put back: in a burst a low message would wander from worker to worker until its
receive count sends it to the dead letters. In turn with 1 s each, a message is picked up at once if
its lane is being listened at and else within 2 s (p90 1.7 s), for 60 receives a minute, about one
dollar a month for a worker. `TASKGATE_WATCH` trades that: 5 s costs 12 receives, and up to 10 s.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from gpu_worker.stop import Stop
from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.ports import Delivery, Lanes
from taskgate.settings import PRIORITIES

WEIGHTS: Final[Mapping[str, int]] = {"high": 5, "normal": 2, "low": 1}
_BACKOFF: Final = 2.0


def weighted_order(weights: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Endless turns; each names every lane once. Smooth: a lane's turns to be first are spread."""
    total, credit = sum(weights.values()), dict.fromkeys(weights, 0)
    while True:
        for name, weight in weights.items():
            credit[name] += weight
        first = max(credit, key=lambda name: credit[name])
        credit[first] -= total
        yield (first, *(name for name in weights if name != first))


def lane_names(pool: str) -> tuple[str, ...]:
    """The pool's lanes, the most urgent first."""
    return tuple(f"{pool}-{priority}" for priority in PRIORITIES)


class LanePoller:
    """Brings one message at a time: only what can start now is ever received."""

    def __init__(
        self,
        lanes: Lanes,
        pool: str,
        watch: int,
        stop: Stop,
        paused: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._lanes, self._watch, self._stop, self._paused = lanes, watch, stop, paused
        self._turns = weighted_order({f"{pool}-{p}": w for p, w in WEIGHTS.items()})
        self._rota = itertools.cycle(lane_names(pool))
        self._idle = False

    def next(self) -> Delivery | None:
        """The next message, or None: all lanes were empty, or the queue service did not answer."""
        try:
            delivery = (
                self._listen(self._next_open()) if self._idle else self._ask(next(self._turns))
            )
        except Unavailable as error:
            swallowed("poll_failed", error)
            self._stop.wait(_BACKOFF)
            return None
        self._idle = delivery is None
        return delivery

    def put_back(self, delivery: Delivery, seconds: int = 0) -> None:
        """Another worker may have it, after `seconds`."""
        try:
            self._lanes.hide(delivery, seconds)
        except Unavailable as error:
            # It shows up again by itself when its visibility runs out.
            swallowed("put_back_failed", error, task=delivery.message.task_id)

    def _ask(self, order: Sequence[str]) -> Delivery | None:
        found = (self._receive(lane, 0) for lane in order if not self._paused(lane))
        return next((delivery for delivery in found if delivery), None)

    def _next_open(self) -> str | None:
        """The next lane of the rota that no operator has paused."""
        turns = (next(self._rota) for _ in PRIORITIES)
        return next((lane for lane in turns if not self._paused(lane)), None)

    def _listen(self, lane: str | None) -> Delivery | None:
        if lane is None:
            # What is in paused lanes waits for an operator, and so does this worker.
            self._stop.wait(max(1, self._watch))
            return None
        began = time.monotonic()
        delivery = self._receive(lane, self._watch)
        if delivery is None and time.monotonic() - began < self._watch / 2:
            # Some emulators answer a long poll at once; that must not become a hot loop.
            self._stop.wait(self._watch / 2)
        return delivery

    def _receive(self, lane: str, wait: int) -> Delivery | None:
        return next(iter(self._lanes.receive(lane, wait, 1)), None)
