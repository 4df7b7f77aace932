"""A consumer that is alive and receives nothing more is worse than a dead one: end it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from gpu_worker.stop import EXIT_STUCK
from taskgate.events import event

_LOOK_EVERY: Final = 1.0


def _end(_: str) -> None:
    os._exit(EXIT_STUCK)


class Watchdog:
    """Bites when something that must come back has not for `limit` seconds."""

    def __init__(self, limit: float, bite: Callable[[str], None] = _end) -> None:
        self._limit, self._bite = limit, bite
        self._what, self._since = "", 0.0
        self._closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True, name="watchdog").start()

    def close(self) -> None:
        self._closed.set()

    @contextmanager
    def expecting(self, what: str) -> Iterator[None]:
        """The block must end within the limit."""
        self._what, self._since = what, time.monotonic()
        try:
            yield
        finally:
            self._what = ""

    def _watch(self) -> None:
        while not self._closed.wait(min(_LOOK_EVERY, self._limit / 2)):
            what = self._what
            if what and time.monotonic() - self._since > self._limit:
                event("stuck", what=what, seconds=self._limit)
                self._bite(what)
