"""embed_document: a PDF, text or Markdown document to chunks and vectors."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from taskgate.catalog.tasktype import TaskInput, TaskType


class EmbedDocumentInput(TaskInput):
    """Either `text`, or `content_base64` for a PDF."""

    format: Annotated[
        Literal["pdf", "text", "markdown"], Field(description="What the document is.")
    ] = "text"
    text: Annotated[
        str | None, Field(description="The document itself, for text and markdown.")
    ] = None
    content_base64: Annotated[
        str | None, Field(description="The document's bytes in base64, for pdf.")
    ] = None
    chunk_chars: Annotated[
        int, Field(ge=100, le=4000, description="Target length of a chunk, in characters.")
    ] = 800
    overlap_chars: Annotated[
        int, Field(ge=0, le=1000, description="Characters that neighbouring chunks share.")
    ] = 100
    dimensions: Annotated[Literal[64, 128, 256], Field(description="Length of each vector.")] = 256

    @model_validator(mode="after")
    def _one_document(self) -> Self:
        wanted = "content_base64" if self.format == "pdf" else "text"
        given = {n for n in ("text", "content_base64") if getattr(self, n) is not None}
        if given != {wanted}:
            raise ValueError(f"format {self.format} takes {wanted}, and only that")
        if self.overlap_chars >= self.chunk_chars:
            raise ValueError("overlap_chars must be less than chunk_chars")
        if self.content_base64 is not None:
            _decodable(self.content_base64)
        return self


def _decodable(content: str) -> None:
    try:
        base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("content_base64 is not base64") from None


EMBED_DOCUMENT = TaskType(
    name="embed_document",
    title="Embed a document: parse, chunk, embed, index",
    input_model=EmbedDocumentInput,
    runner="gpu_worker.runners.embed_document:EmbedDocument",
    pool="cpu",
    run_timeout=10 * 60,
)
