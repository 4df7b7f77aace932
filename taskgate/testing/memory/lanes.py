"""Lanes in memory, with SQS's manners: visibility, redelivery, delays, receipts that go stale."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taskgate.ports import Delivery, Depth, Message


@dataclass
class _Stored:
    message: Message
    visible_at: int
    receipt: str = ""
    receives: int = 0


class MemoryLanes:
    """Standard queues: at least once, in no promised order.

    `fair`: as SQS does where messages bear a group, tenants with few messages in flight go first.
    """

    def __init__(self, now: Callable[[], int], visibility: int, *, fair: bool = False) -> None:
        self._now, self._visibility, self._fair = now, visibility, fair
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self.queues: dict[str, list[_Stored]] = {}

    def send(self, lane: str, message: Message, delay: int = 0) -> None:
        with self._lock:
            stored = _Stored(message, self._now() + delay * 1000)
            self.queues.setdefault(lane, []).append(stored)

    def receive(self, lane: str, wait: int = 0, most: int = 1) -> Sequence[Delivery]:
        """`wait` is real seconds: a virtual clock does not move while a test thread waits."""
        until = time.monotonic() + wait
        while not (found := self._take(lane, most)) and time.monotonic() < until:
            time.sleep(0.01)
        return found

    def delete(self, delivery: Delivery) -> None:
        with self._lock:
            queue = self.queues.get(delivery.lane, [])
            queue[:] = [s for s in queue if s.receipt != delivery.receipt]

    def hide(self, delivery: Delivery, seconds: int) -> None:
        with self._lock:
            for stored in self.queues.get(delivery.lane, []):
                if stored.receipt == delivery.receipt:
                    stored.visible_at = self._now() + seconds * 1000

    def waiting(self, lane: str) -> int:
        with self._lock:
            return sum(s.visible_at <= self._now() for s in self.queues.get(lane, []))

    def depth(self, lane: str) -> Depth:
        with self._lock:
            queue, now = self.queues.get(lane, []), self._now()
            taken = sum(s.receives > 0 and s.visible_at > now for s in queue)
            return Depth(self.waiting(lane), taken)

    def visibility(self, lane: str) -> int:
        del lane
        return self._visibility

    def total(self) -> int:
        """Messages in all lanes, hidden ones too."""
        return sum(len(q) for q in self.queues.values())

    def _take(self, lane: str, most: int) -> list[Delivery]:
        with self._lock:
            ready = [s for s in self.queues.get(lane, []) if s.visible_at <= self._now()]
            if self._fair:
                flying = self._in_flight(lane)
                ready.sort(key=lambda stored: flying[stored.message.tenant])
            return [self._deliver(lane, stored) for stored in ready[:most]]

    def _in_flight(self, lane: str) -> Counter[str]:
        received = (s for s in self.queues.get(lane, []) if s.receives)
        return Counter(s.message.tenant for s in received if s.visible_at > self._now())

    def _deliver(self, lane: str, stored: _Stored) -> Delivery:
        stored.visible_at = self._now() + self._visibility * 1000
        stored.receives += 1
        stored.receipt = f"receipt-{next(self._numbers)}"
        return Delivery(stored.message, lane, stored.receipt, stored.receives)
