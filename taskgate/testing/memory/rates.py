"""The shared rates in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class MemoryRates:
    """The shared rates."""

    now: Callable[[], int]
    slots: dict[str, int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def reserve(self, key: str, interval_ms: int, burst: int) -> int:
        with self.lock:
            full_at = max(self.slots.get(key, 0), self.now()) + interval_ms
            self.slots[key] = full_at
            return max(self.now(), full_at - burst * interval_ms)

    def admit(self, key: str, interval_ms: int, burst: int) -> int | None:
        with self.lock:
            empty_at = max(self.slots.get(key, 0), self.now())
            next_at = empty_at - (burst - 1) * interval_ms
            if next_at > self.now():
                return next_at
            self.slots[key] = empty_at + interval_ms
            return None
