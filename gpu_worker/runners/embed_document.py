"""embed_document: parse → chunk → embed → index, with the static model inside the wordllama wheel."""

from __future__ import annotations

import base64
import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import wordllama

from gpu_worker.runner import Context, Runner
from gpu_worker.runners.chunks import Chunk, chunked
from gpu_worker.runners.document import Page, pdf_pages, text_of, text_pages

Vectors = npt.NDArray[np.float32]

MODEL: Final = "wordllama/l2_supercat_256"
BATCH: Final = 16
"""Chunks a batch: 4,000 characters each at 256 floats a token stay below 100 MB."""
SELF_TEST_QUERIES: Final = 8


class EmbedDocument(Runner):
    """Leaves `vectors.npy` (float32, unit length), `chunks.jsonl` (same order), `manifest.json`."""

    def setup(self) -> None:
        """Load the model from the wheel's own folder; the network is never asked."""
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, dim=256, disable_download=True)
        self._model.embed(["warm up"])

    def run(
        self,
        ctx: Context,
        *,
        format: str,  # noqa: A002  the input's own field name
        chunk_chars: int,
        overlap_chars: int,
        dimensions: int,
        text: str | None = None,
        content_base64: str | None = None,
        document: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        ctx.stage("parse")
        if document is not None:
            pages = _pages_of_file(ctx, format, ctx.given(document))
        else:
            pages = _pages(ctx, text, content_base64)
        ctx.progress(0.3, "chunk")
        chunks = chunked(pages, chunk_chars, overlap_chars)
        ctx.progress(0.35, "embed")
        vectors = self._embedded(ctx, [chunk.text for chunk in chunks], dimensions)
        ctx.progress(0.9, "index")
        counts = _counts(pages, vectors)
        _write(ctx, chunks, vectors)
        _write_manifest(ctx, counts, format, self._self_test(chunks, vectors))
        ctx.progress(1.0)
        return counts

    def _embedded(self, ctx: Context, texts: list[str], dimensions: int) -> Vectors:
        vectors = np.zeros((len(texts), dimensions), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            vectors[start : start + BATCH] = self._unit(batch, dimensions)
            ctx.progress(0.35 + 0.55 * (start + len(batch)) / len(texts))
        return vectors

    def _unit(self, texts: list[str], dimensions: int) -> Vectors:
        # The model is trained so that its first dimensions are an embedding of their own.
        raw: Vectors = self._model.embed(texts, batch_size=BATCH)[:, :dimensions]
        length = np.linalg.norm(raw, axis=1, keepdims=True)
        # A text without any token has length 0; it stays a zero vector and matches nothing.
        unit: Vectors = (raw / np.where(length > 0, length, 1)).astype(np.float32)
        return unit

    def _self_test(self, chunks: list[Chunk], vectors: Vectors) -> dict[str, int]:
        """Search as a reader of the result would: each of some chunks must find itself first."""
        rows = list(range(0, len(chunks), max(1, len(chunks) // SELF_TEST_QUERIES)))
        scores = self._unit([chunks[row].text for row in rows], vectors.shape[1]) @ vectors.T
        own = scores[range(len(rows)), rows]
        # Equal chunks tie; and batches of other lengths round differently in the last digits.
        if not (own >= scores.max(axis=1) - 1e-4).all():
            raise RuntimeError("the index does not find its own chunks")
        return {"queries": len(rows), "found_first": len(rows)}


def _pages(ctx: Context, text: str | None, content_base64: str | None) -> list[Page]:
    if content_base64 is not None:
        return _pdf_pages(ctx, io.BytesIO(base64.b64decode(content_base64)))
    return text_pages(text or "")


def _pages_of_file(ctx: Context, kind: str, path: Path) -> list[Page]:
    if kind != "pdf":
        return text_pages(text_of(path.read_bytes()))
    with path.open("rb") as raw:
        return _pdf_pages(ctx, raw)


def _pdf_pages(ctx: Context, raw: BinaryIO) -> list[Page]:
    return pdf_pages(raw, lambda done: ctx.progress(0.3 * done))


def _counts(pages: list[Page], vectors: Vectors) -> dict[str, Any]:
    return {
        "pages": len(pages),
        "characters": sum(len(page.text) for page in pages),
        "chunks": len(vectors),
        "vectors": len(vectors),
        "dimensions": vectors.shape[1],
        "model": MODEL,
    }


def _write(ctx: Context, chunks: list[Chunk], vectors: Vectors) -> None:
    np.save(ctx.file("vectors.npy", "application/octet-stream"), vectors, allow_pickle=False)
    with ctx.file("chunks.jsonl", "application/jsonl").open("w", encoding="utf-8") as lines:
        for row, chunk in enumerate(chunks):
            fields = {"row": row, "page": chunk.page, "start": chunk.start, "end": chunk.end}
            lines.write(json.dumps({**fields, "text": chunk.text}, ensure_ascii=False) + "\n")


def _write_manifest(
    ctx: Context, counts: dict[str, Any], kind: str, self_test: dict[str, int]
) -> None:
    manifest = {
        "format": kind,
        **counts,
        "model_package": f"wordllama {version('wordllama')}",
        "index": {
            "kind": "flat",
            "metric": "cosine",
            "normalized": True,
            "search": "scores = vectors @ unit_query; row i of vectors.npy is row i of chunks.jsonl",
            "self_test": self_test,
        },
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    ctx.file("manifest.json", "application/json").write_text(text, "utf-8")
