"""The receivers' records in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from taskgate.pages import Page
from taskgate.receivers import Health, Unwell


@dataclass
class MemoryReceivers:
    """The `Receivers` port."""

    records: dict[str, Health] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """The next free slot of each line."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, receiver: str) -> Health:
        health = self.records.get(receiver, Health())
        return replace(health, line_at=self.lines.get(receiver, 0))

    def swap(self, receiver: str, seen: Health, new: Health) -> Health | None:
        with self.lock:
            if self.records.get(receiver, Health()).version != seen.version:
                return None
            recorded = self.records[receiver] = replace(new, version=seen.version + 1)
            return recorded

    def unwell(
        self, limit: int, start: str | None = None, tenant: str | None = None
    ) -> Page[Unwell]:
        with self.lock:
            ill = {key: self.records[key] for key in sorted(self.records)}
        ours = [
            Unwell(receiver=key, health=health)
            for key, health in ill.items()
            if health.failures and key > (start or "")
        ]
        found = [r for r in ours if tenant in (None, r.tenant)]
        return Page(found[:limit], found[limit - 1].receiver if len(found) > limit else None)

    def line_up(self, receiver: str, not_before: int, interval_ms: int) -> int:
        with self.lock:
            slot = max(self.lines.get(receiver, 0), not_before)
            self.lines[receiver] = slot + interval_ms
            return slot
