"""The spreads in memory."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable

from taskgate.spreads import DAY_MS, Spans


class MemorySpreads:
    """The `Spreads` port."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now, self._lock = now, threading.RLock()
        self._kept: dict[tuple[str, str, int], Spans] = defaultdict(Spans)

    def add(self, kind: str, lane: str, spans: Spans) -> None:
        with self._lock:
            self._kept[kind, lane, self._now() // DAY_MS] += spans

    def lately(self, kind: str, lane: str) -> Spans:
        with self._lock:
            today = self._now() // DAY_MS
            found = [self._kept.get((kind, lane, today - back), Spans()) for back in (0, 1)]
            return sum(found, Spans())
