"""What happened to a task, entry by entry, in the same write as the change itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from taskgate.lifecycle.states import State, Verb

MAX_ENTRIES: Final = 40
"""Past this the middle is folded, so that history can never make a task unsavable."""
KEPT_FIRST: Final = 5
MAX_REASON: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One transition. Where it came from is where the entry before it led."""

    at: int
    verb: Verb
    to: State
    attempt: int
    actor: str
    reason: str = ""
    folded: int = 0
    """Entries between the one before and this one that were folded away."""


def told(history: Sequence[Entry]) -> Iterator[tuple[State | None, Entry]]:
    """Each entry with the state that it came from; None for the first, and after a fold."""
    before: State | None = None
    for entry in history:
        yield (None if entry.folded else before), entry
        before = entry.to


def cap_bytes(text: str, limit: int) -> str:
    """`text` cut to at most `limit` UTF-8 bytes, never inside a character."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[: limit - 3].decode("utf-8", "ignore") + "…"


def fold(history: Sequence[Entry]) -> tuple[Entry, ...]:
    """At most `MAX_ENTRIES`: the first few, then the latest, which says how many are missing."""
    if len(history) <= MAX_ENTRIES:
        return tuple(history)
    latest = list(history[-(MAX_ENTRIES - KEPT_FIRST) :])
    gone = history[KEPT_FIRST : -len(latest)]
    hidden = len(gone) + sum(e.folded for e in gone) + latest[0].folded
    latest[0] = _with_folded(latest[0], hidden)
    return (*history[:KEPT_FIRST], *latest)


def _with_folded(entry: Entry, hidden: int) -> Entry:
    return Entry(
        at=entry.at,
        verb=entry.verb,
        to=entry.to,
        attempt=entry.attempt,
        actor=entry.actor,
        reason=entry.reason,
        folded=hidden,
    )
