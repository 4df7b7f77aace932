"""The roster in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from taskgate.roster import KEPT_SECONDS, MOST_LISTED, Sign


class MemoryRoster:
    """The `Roster` port."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now, self._lock = now, threading.RLock()
        self.signs: dict[str, tuple[int, Sign]] = {}
        self.lists: dict[str, set[str]] = {}

    def report(self, sign: Sign) -> None:
        with self._lock:
            self.signs[sign.worker] = (self._now() // 1000 + KEPT_SECONDS, sign)

    def join(self, pool: str, worker: str) -> None:
        with self._lock:
            listed = self.lists.setdefault(pool, set())
            listed &= {i for i in listed if self._here(i)}
            listed.add(worker)

    def leave(self, sign: Sign) -> None:
        with self._lock:
            self.lists.get(sign.pool, set()).discard(sign.worker)
            self.signs.pop(sign.worker, None)

    def present(self, pools: Iterable[str]) -> Sequence[Sign]:
        with self._lock:
            ids = sorted({i for pool in pools for i in self.lists.get(pool, ())})[:MOST_LISTED]
            signs = [self.signs[i][1] for i in ids if self._here(i)]
            return sorted(signs, key=lambda sign: (sign.pool, sign.worker))

    def _here(self, worker: str) -> bool:
        return self.signs.get(worker, (0, None))[0] > self._now() // 1000
