"""The slots in memory."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

from taskgate.slots import Slot


class MemorySlots:
    """The `Slots` port."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.held: dict[str, dict[str, Slot]] = defaultdict(dict)

    def take(self, key: str, task_id: str, slot: Slot, most: int) -> Mapping[str, Slot] | None:
        with self._lock:
            held = self.held[key]
            if task_id not in held and len(held) >= most:
                return dict(held)
            held[task_id] = slot
            return None

    def free(self, key: str, held: Mapping[str, Slot]) -> bool:
        with self._lock:
            if not held.items() <= self.held[key].items():
                return False
            for task_id in held:
                del self.held[key][task_id]
            return True
