"""Pages to chunks: about equally long, overlapping, cut where a reader would pause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gpu_worker.runners.document import Page

_PAUSES: Final = ("\n\n", "\n", ". ", "? ", "! ", "; ", ", ", " ")
"""Best first: between paragraphs, lines, sentences, clauses, words."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one page; `start` and `end` are character offsets in that page's text."""

    page: int
    start: int
    end: int
    text: str


def chunked(pages: Sequence[Page], target: int, overlap: int) -> list[Chunk]:
    """Chunks of at most `target` characters; neighbours share about `overlap`. None crosses a page."""
    return [
        Chunk(page.number, start, end, page.text[start:end])
        for page in pages
        for start, end in _spans(page.text, target, overlap)
    ]


def _spans(text: str, target: int, overlap: int) -> Iterator[tuple[int, int]]:
    start = _past_space(text, 0)
    while start < len(text):
        end = _pause(text, start, target)
        yield start, start + len(text[start:end].rstrip())
        if end >= len(text):
            return
        # At least one character further, or a long overlap would never end.
        start = _past_space(text, max(start + 1, _word_start(text, end - overlap, end)))


def _pause(text: str, start: int, target: int) -> int:
    """Where to end: after the best pause in the last half of the window, else in mid-word."""
    limit = start + target
    if limit >= len(text):
        return len(text)
    for pause in _PAUSES:
        found = text.rfind(pause, start + target // 2, limit)
        if found >= 0:
            return found + len(pause)
    return limit


def _word_start(text: str, start: int, end: int) -> int:
    """The first word that begins at or after `start`; `start` itself when there is none."""
    if start <= 0 or start >= end or text[start - 1].isspace():
        return start
    space = next((i for i in range(start, end) if text[i].isspace()), None)
    return start if space is None else space + 1


def _past_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
