"""Bulk acts in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from taskgate.bulks import Bulk
from taskgate.pages import Page


class MemoryBulks:
    """The `BulkStore` port. `most` bulk acts are on a page."""

    def __init__(self, most: int = 20) -> None:
        self._most, self._lock = most, threading.RLock()
        self._bulks: dict[str, Bulk] = {}

    def get_bulk(self, bulk_id: str) -> Bulk | None:
        return self._bulks.get(bulk_id)

    def write_bulk(self, bulk: Bulk) -> bool:
        with self._lock:
            old = self._bulks.get(bulk.id)
            if bulk.version != (old.version if old else 0):
                return False
            self._bulks[bulk.id] = replace(bulk, version=bulk.version + 1)
            return True

    def list_bulks(self, start: str | None = None) -> Page[Bulk]:
        with self._lock:
            rest = sorted((i for i in self._bulks if start is None or i < start), reverse=True)
            rows = [self._bulks[i] for i in rest[: self._most]]
        return Page(rows, rows[-1].id if len(rest) > self._most else None)

    def due_bulks(self, until: int) -> Sequence[str]:
        with self._lock:
            due = [(b.due_at, b.id) for b in self._bulks.values() if b.due_at is not None]
        return [bulk_id for at, bulk_id in sorted(due) if at <= until]
