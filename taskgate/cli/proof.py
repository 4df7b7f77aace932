"""What the demo claims, each claim checked: a tick or a cross, and the count of crosses."""

from __future__ import annotations

from itertools import pairwise

from taskgate.cli.printing import say
from taskgate.client import HistoryEntry, Task


class Proof:
    """Claims made so far, and those that were not true."""

    def __init__(self) -> None:
        self.untrue: list[str] = []

    def claim(self, what: str, true: bool) -> None:
        """Print a claim with the verdict on it."""
        if not true:
            self.untrue.append(what)
        mark = ("  ✓ ", "green") if true else ("  ✗ ", "bold red")
        say(mark, what)


def unbroken(history: tuple[HistoryEntry, ...]) -> bool:
    """Each entry starts where the one before it led, and not before it."""
    return all(
        later.before == earlier.to and earlier.at and later.at and earlier.at <= later.at
        for earlier, later in pairwise(history)
    )


def rising(looks: list[Task]) -> bool:
    """Within an attempt progress never fell."""
    return all(
        earlier.attempt != later.attempt or earlier.progress <= later.progress
        for earlier, later in pairwise(looks)
    )
