"""Documents become pages and chunks; what is no document is refused, once and clearly."""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_samples import bomb, encrypted, pdf

from gpu_worker.runner import Permanent
from gpu_worker.runners import document
from gpu_worker.runners.chunks import chunked
from gpu_worker.runners.document import Page, pdf_pages, text_of, text_pages
from taskgate.lifecycle.retry import ErrorCode


def pages_of(raw: bytes) -> list[Page]:
    return pdf_pages(io.BytesIO(raw), lambda done: None)


def test_each_page_of_a_pdf_keeps_its_number_and_its_text() -> None:
    pages = pages_of(pdf("The first page.", "", "The third page."))
    assert [p.number for p in pages] == [1, 2, 3]
    assert [p.text.strip() for p in pages] == ["The first page.", "", "The third page."]


def test_progress_goes_up_to_one_page_by_page() -> None:
    seen: list[float] = []
    pdf_pages(io.BytesIO(pdf("a", "b")), seen.append)
    assert seen == [0.5, 1.0]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "cannot be read as a PDF"),
        (b"this is no PDF", "cannot be read as a PDF"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 8, "cannot be read as a PDF"),
        (pdf("text")[:200], "cannot be read as a PDF"),
        (encrypted(pdf("secret plans"), "password"), "encrypted"),
        (pdf("", ""), "has no text"),
        (bomb(document.MAX_STREAM * 2), "cannot be read as a PDF"),
    ],
    ids=["empty", "text", "noise", "cut off", "encrypted", "no text", "decompression bomb"],
)
def test_what_is_not_a_readable_pdf_is_a_permanent_invalid_input(raw: bytes, why: str) -> None:
    began = time.monotonic()
    with pytest.raises(Permanent, match=why) as caught:
        pages_of(raw)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert time.monotonic() - began < 5


def test_a_pdf_with_an_empty_user_password_is_read() -> None:
    assert pages_of(encrypted(pdf("open plans"), ""))[0].text.strip() == "open plans"


def test_damaged_pdfs_never_raise_anything_but_permanent() -> None:
    whole, chance = pdf("some text", "more text"), random.Random(1)
    read = 0
    for _ in range(200):
        raw = bytearray(whole)
        for _ in range(chance.randrange(1, 12)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        with contextlib.suppress(Permanent):
            pages_of(bytes(raw))
            read += 1
    assert 0 < read < 200, "some can be read, some cannot, and nothing else happens"


def test_too_many_pages_and_too_much_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_PAGES", 1)
    with pytest.raises(Permanent, match="2 pages, at most 1"):
        pages_of(pdf("a", "b"))
    monkeypatch.setattr(document, "MAX_CHARS", 10)
    with pytest.raises(Permanent, match="more than 10 characters"):
        text_pages("x" * 11)


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(Permanent, match="no text"):
        text_pages(" \n\t ")


def test_a_text_file_is_read_without_its_mark_and_other_bytes_are_refused() -> None:
    assert text_of("\ufeffé\n".encode()) == "é\n"
    with pytest.raises(Permanent, match="not UTF-8: byte 1") as caught:
        text_of(b"a\xff")
    assert caught.value.code is ErrorCode.INVALID_INPUT


def test_chunks_end_where_a_reader_would_pause() -> None:
    text = "One sentence here. " * 4 + "\n\n" + "Another paragraph goes on. " * 4
    chunks = chunked([Page(1, text)], 100, 0)
    assert chunks[0].text.endswith("One sentence here.")
    assert chunks[1].text.startswith("Another paragraph")


def test_neighbouring_chunks_share_the_overlap() -> None:
    words = " ".join(f"word{n}" for n in range(200))
    chunks = chunked([Page(1, words)], 200, 50)
    for one, other in itertools.pairwise(chunks):
        assert 25 <= one.end - other.start <= 50


def test_no_chunk_crosses_a_page() -> None:
    chunks = chunked([Page(1, "short"), Page(2, "  "), Page(3, "also short")], 100, 10)
    assert [(c.page, c.text) for c in chunks] == [(1, "short"), (3, "also short")]


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("ab .\n\té👩\u3000"), max_size=600),
    st.integers(100, 300),
    st.integers(0, 99),
)
def test_chunks_lose_no_visible_character_and_keep_their_offsets(
    text: str, target: int, overlap: int
) -> None:
    chunks = chunked([Page(1, text)], target, overlap)
    covered = set()
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < len(chunk.text) <= target
        covered |= set(range(chunk.start, chunk.end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
    assert [c.start for c in chunks] == sorted({c.start for c in chunks})


def test_the_samples_bomb_is_small_enough_to_be_sent() -> None:
    assert len(zlib.compress(b" " * document.MAX_STREAM * 2, 9)) < 96 * 1024
