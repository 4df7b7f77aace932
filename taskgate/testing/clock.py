"""A clock that moves only when a test says so."""

from __future__ import annotations


class VirtualClock:
    """Epoch ms. Starts on a day in 2026, so that values look like the real ones."""

    def __init__(self, start: int = 1_790_000_000_000) -> None:
        self.at = start

    def __call__(self) -> int:
        return self.at

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at += round(seconds * 1000)

    def advance_to(self, at: int) -> None:
        """Let time pass until `at` (epoch ms); never backwards."""
        self.at = max(self.at, at)
