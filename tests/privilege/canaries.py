"""A different random word in every place whose content must never reach a log."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Canaries:
    """Words by the place that they were put into."""

    words: dict[str, str] = field(default_factory=dict)

    def word(self, place: str) -> str:
        """A word that stands in this place and nowhere else."""
        return self.words.setdefault(place, f"canary{secrets.token_hex(10)}")

    def keep(self, place: str, word: str) -> str:
        """Something secret that was made elsewhere: a key, a signature."""
        if len(word) < 8:
            raise ValueError(f"{place} is too short to be looked for: {word!r}")
        self.words[place] = word
        return word


def found_in(text: str, words: Mapping[str, str]) -> list[str]:
    """The places whose word stands in the text."""
    return sorted(place for place, word in words.items() if word in text)
