"""Bulk acts in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from taskgate.bulks import Bulk


class MemoryBulks:
    """The `BulkStore` port."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
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

    def due_bulks(self, until: int) -> Sequence[str]:
        with self._lock:
            due = [(b.due_at, b.id) for b in self._bulks.values() if b.due_at is not None]
        return [bulk_id for at, bulk_id in sorted(due) if at <= until]
