"""A document's bytes to pages of text, within bounds, whatever the bytes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final

import pypdf

from gpu_worker.runner import Permanent

MAX_PAGES: Final = 2_000
MAX_CHARS: Final = 5_000_000
MAX_STREAM: Final = 32 * 1024 * 1024
"""Bytes that one compressed stream of a PDF may unpack to."""

_BOUNDS: Final = pypdf.Configuration(
    maximum_declared_stream_length=MAX_STREAM,
    array_based_stream_maximum_output_length=MAX_STREAM,
    lzw_maximum_output_length=MAX_STREAM,
    run_length_maximum_output_length=MAX_STREAM,
    zlib_maximum_output_length=MAX_STREAM,
    stream_decoding_work_maximum_length=4 * MAX_STREAM,
    page_tree_maximum_entries=10 * MAX_PAGES,
    disable_legacy_handling=True,
)


@dataclass(frozen=True, slots=True)
class Page:
    """One page; `number` counts from 1."""

    number: int
    text: str


def pdf_pages(raw: BinaryIO, progress: Callable[[float], None]) -> list[Page]:
    """The text of each page. Raises `Permanent` for what is not a readable PDF with text."""
    with pypdf.apply_configuration(_BOUNDS):
        try:
            pages = _extract(raw, progress)
        except (Permanent, MemoryError):
            raise
        except Exception as error:  # a hostile file may make a parser raise anything
            reason = type(error).__name__
            raise Permanent(f"the document cannot be read as a PDF ({reason})") from error
    return _with_text(pages, "it may hold scanned images only, which need OCR first")


def text_pages(text: str) -> list[Page]:
    """A text is one page."""
    return _with_text([Page(1, _bounded(text))], "it is empty")


def text_of(raw: bytes) -> str:
    """The text of a file; `Permanent` when it is not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Permanent(f"the document is not UTF-8: byte {error.start}") from None


def _extract(raw: BinaryIO, progress: Callable[[float], None]) -> list[Page]:
    reader = pypdf.PdfReader(raw)
    if reader.is_encrypted and not _opens_without_password(reader):
        raise Permanent("the PDF is encrypted; send it without a password")
    count = len(reader.pages)
    if count > MAX_PAGES:
        raise Permanent(f"the PDF has {count} pages, at most {MAX_PAGES} are taken")
    pages, chars = [], 0
    for number, page in enumerate(reader.pages, 1):
        text = _whole_characters(page.extract_text())
        chars += len(text)
        _bounded("", chars)
        pages.append(Page(number, text))
        progress(number / count)
    return pages


def _opens_without_password(reader: pypdf.PdfReader) -> bool:
    """Some PDFs only restrict printing and the like: their user password is empty."""
    try:
        return bool(reader.decrypt(""))
    except (pypdf.errors.PyPdfError, pypdf.errors.DependencyError, NotImplementedError):
        return False


def _whole_characters(text: str) -> str:
    # Broken font tables yield lone surrogates, which no UTF-8 file can hold.
    return text.encode("utf-8", "replace").decode("utf-8")


def _bounded(text: str, chars: int | None = None) -> str:
    if (len(text) if chars is None else chars) > MAX_CHARS:
        raise Permanent(f"the document has more than {MAX_CHARS} characters")
    return text


def _with_text(pages: list[Page], why_not: str) -> list[Page]:
    if not any(page.text.strip() for page in pages):
        raise Permanent(f"the document has no text: {why_not}")
    return pages
