"""The known word that somebody may have meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

LONGEST: Final = 64
"""Of a word that is looked at: to compare takes time that grows with its length."""
LIKE: Final = 0.6
MOST_NAMES: Final = 20


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one that is most like it, however it is capitalised; None when none is near."""
    if len(word) > LONGEST:
        return None
    folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), folded, n=1, cutoff=LIKE)
    return folded[found[0]] if found else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`; did you mean x?`, or nothing."""
    near = nearest(word, known) if isinstance(word, str) else None
    return f"; did you mean {near}?" if near else ""


def must_be_one_of(known: Iterable[str], word: object) -> str:
    """What is wrong with a word that is none of these, and which one was meant."""
    names = list(known)
    return f"must be one of {in_words(names)}{did_you_mean(word, names)}"


def in_words(known: Iterable[str]) -> str:
    """The names in a row, not more than can be read."""
    names = list(known)
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
