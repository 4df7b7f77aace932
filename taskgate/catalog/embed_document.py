"""embed_document: a PDF, text or Markdown document to chunks and vectors."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from taskgate.catalog.references import MIB, UploadRef
from taskgate.catalog.tasktype import TaskInput, TaskType


class DocumentUpload(UploadRef):
    """A document that was uploaded."""

    content_types: ClassVar[tuple[str, ...]] = ("application/pdf", "text/markdown", "text/plain")
    max_bytes: ClassVar[int] = 50 * MIB


class EmbedDocumentInput(TaskInput):
    """Either `text`, or `content_base64` for a small PDF, or `document` for one that was uploaded."""

    format: Annotated[
        Literal["pdf", "text", "markdown"], Field(description="What the document is.")
    ] = "text"
    text: Annotated[
        str | None, Field(description="The document itself, for text and markdown.")
    ] = None
    content_base64: Annotated[
        str | None, Field(description="The document's bytes in base64, for pdf.")
    ] = None
    document: Annotated[
        DocumentUpload | None, Field(description="The document as an upload, for any format.")
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
        inline = "content_base64" if self.format == "pdf" else "text"
        names = ("text", "content_base64", "document")
        given = [name for name in names if getattr(self, name) is not None]
        if given not in ([inline], ["document"]):
            raise ValueError(f"format {self.format} takes {inline} or document, and only one")
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
