"""The ephemeral table in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from taskgate.errors import LeaseLost
from taskgate.ports import Pulse, Seen, Signal


@dataclass
class MemoryPulses:
    """The pulses."""

    pulses: dict[str, Pulse] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def beat(self, pulse: Pulse) -> Pulse:
        with self.lock:
            old = self.pulses.get(pulse.task_id)
            if old and old.attempt > pulse.attempt:
                raise LeaseLost(None)
            if old and old.attempt == pulse.attempt:
                progress = max(old.progress, pulse.progress)
                pulse = replace(pulse, progress=progress, signal=old.signal, seen=old.seen)
            self.pulses[pulse.task_id] = pulse
            return pulse

    def signal(self, task_id: str, signal: Signal) -> None:
        with self.lock:
            old = self.pulses.get(task_id) or Pulse(task_id=task_id, attempt=signal.attempt)
            if old.attempt < signal.attempt:
                old = Pulse(task_id=task_id, attempt=signal.attempt)
            if old.attempt == signal.attempt and old.signal not in signal.stronger:
                self.pulses[task_id] = replace(old, signal=signal)

    def acknowledge(self, task_id: str, seen: Seen) -> None:
        with self.lock:
            old = self.pulses.get(task_id)
            if old and old.attempt == seen.attempt and old.seen_at(seen.kind) is None:
                self.pulses[task_id] = replace(old, seen=seen)

    def get(self, task_id: str) -> Pulse | None:
        return self.pulses.get(task_id)
