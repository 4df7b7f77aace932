"""The queue of errands in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class MemoryErrands:
    """Keeps what was sent: (due at, task id, news or None)."""

    now: Callable[[], int]
    sent: list[tuple[int, str, str | None]] = field(default_factory=list)

    def send(self, task_id: str, delay: int, news: str | None = None) -> None:
        self.sent.append((self.now() + delay * 1000, task_id, news))

    def take(self) -> list[tuple[str, str | None]]:
        """Those that are due, taken out of the queue."""
        due = [(task_id, news) for at, task_id, news in self.sent if at <= self.now()]
        self.sent = [row for row in self.sent if row[0] > self.now()]
        return due
