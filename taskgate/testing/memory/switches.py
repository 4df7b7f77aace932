"""The operators' switches in memory."""

from __future__ import annotations

import threading
from dataclasses import replace

from taskgate.switches import Switches


class MemorySwitches:
    """The `SwitchStore` port. `reads` counts what was asked."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._switches = Switches()
        self.reads = 0

    def read_switches(self) -> Switches:
        self.reads += 1
        return self._switches

    def write_switches(self, switches: Switches) -> bool:
        with self._lock:
            if switches.version != self._switches.version:
                return False
            self._switches = replace(switches, version=switches.version + 1)
            return True
