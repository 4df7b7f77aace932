"""Trails: who did what to a key or a plan, and when. Bounded, and kept in the record itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_TRAIL: Final = 20
"""Of more than so many marks the oldest go, but never the first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a trail: who did what, and when (epoch ms)."""

    at: int
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class Acting:
    """An operator at work: who, and when (epoch ms)."""

    who: str
    at: int

    def mark(self, what: str) -> Mark:
        """The line that the trail gets."""
        return Mark(self.at, self.who, what)


NOBODY: Final = Acting("", 0)


def marked(trail: tuple[Mark, ...], mark: Mark) -> tuple[Mark, ...]:
    """The trail with one more mark."""
    first, rest = trail[:1], (*trail[1:], mark)
    return (*first, *rest[-(MAX_TRAIL - len(first)) :])
