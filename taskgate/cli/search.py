"""A search over downloaded vectors: the proof that they are embeddings, and not just numbers."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from taskgate.cli.exits import CommandError, Exit


@dataclass(frozen=True, slots=True)
class Hit:
    """The chunk nearest to a question, and the cosine of the angle between the two."""

    score: float
    page: int
    text: str
    sentence: str
    """The nearest sentence within the chunk."""


class VectorIndex:
    """The files of one `embed_document` result, opened for searching."""

    def __init__(self, folder: Path) -> None:
        import numpy as np  # noqa: PLC0415 - only the demo needs it

        self.vectors: Any = np.load(folder / "vectors.npy", allow_pickle=False)
        lines = (folder / "chunks.jsonl").read_text("utf-8").splitlines()
        self.chunks: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]

    @property
    def sound(self) -> bool:
        """One vector a chunk, each of length 1, and no two chunks alike."""
        import numpy as np  # noqa: PLC0415

        lengths = np.linalg.norm(self.vectors, axis=1)
        different = len(np.unique(self.vectors, axis=0)) == len(self.vectors)
        return bool(
            len(self.chunks) == len(lengths) and abs(lengths - 1).max() < 1e-3 and different
        )

    def nearest(self, question: str) -> Hit:
        """The chunk that answers the question best."""
        best, score = _best(self.vectors, question)
        chunk = self.chunks[best]
        text = " ".join(chunk["text"].split())
        sentences = text.split(". ")
        sentence, _ = _best(_model().embed(sentences, norm=True), question)
        return Hit(score, int(chunk["page"]), text, sentences[sentence])


def _best(vectors: Any, question: str) -> tuple[int, float]:
    """The row nearest to the question, and its score."""
    scores = vectors @ _model().embed([question], norm=True)[0]
    best = int(scores.argmax())
    return best, float(scores[best])


@cache
def _model() -> Any:
    """The model that the worker used, loaded here a second time from the same package."""
    try:
        import wordllama  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(
            "The search needs wordllama, which is not installed.",
            "Work in a checkout and run `make demo`, which installs it.",
            Exit.USAGE,
        ) from error
    # Its import turns every library's log on; a terminal is no place for signed URLs.
    logging.getLogger().setLevel(logging.WARNING)
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, dim=256, disable_download=True)
