"""What every bucket must do. Subclass it, give it `results` and `post`, and pytest runs the promises."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from taskgate.results import Form, Results, Stored

CONTENT: Final = b"%PDF-1.7 and so on"
DIGEST: Final = hashlib.sha256(CONTENT).digest()
TERMS: Final = Stored(
    size=len(CONTENT),
    content_type="application/pdf",
    sha256=DIGEST.hex(),
    name='résumé "final".pdf',
)
Post = Callable[[Form, bytes], None]
"""Posts the form with these bytes; raises when the bucket refuses."""
_NUMBERS: Final = itertools.count(1)


class ResultsConformance:
    """Promises of `Results`."""

    @pytest.fixture
    def results(self) -> Results:
        """The bucket under test."""
        raise NotImplementedError

    @pytest.fixture
    def post(self) -> Post:
        """How a form reaches it."""
        raise NotImplementedError

    @pytest.fixture
    def key(self) -> str:
        """A key that no other test uses."""
        return f"in/acme/ada/upload_{next(_NUMBERS)}"

    def test_what_was_uploaded_by_a_form_says_what_the_form_was_made_for(
        self, results: Results, post: Post, key: str
    ) -> None:
        post(results.form(key, TERMS, 900), CONTENT)
        assert results.look(key) == TERMS

    def test_an_upload_is_fetched_with_the_digest_of_the_bytes_that_came(
        self, results: Results, post: Post, key: str, tmp_path: Path
    ) -> None:
        post(results.form(key, TERMS, 900), CONTENT)
        fetched = results.fetch(key, str(tmp_path / "given"))
        assert fetched is not None
        assert (fetched.stored, fetched.digest) == (TERMS, DIGEST)
        assert (tmp_path / "given").read_bytes() == CONTENT

    @pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"!", b""])
    def test_a_form_takes_no_other_size_than_its_own(
        self, results: Results, post: Post, key: str, content: bytes
    ) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each bucket has its own refusal
            post(results.form(key, TERMS, 900), content)
        assert results.look(key) is None

    def test_a_form_without_checksum_and_name_is_one_too(
        self, results: Results, post: Post, key: str
    ) -> None:
        plain = Stored(size=len(CONTENT), content_type="text/plain")
        post(results.form(key, plain, 900), CONTENT)
        assert results.look(key) == plain

    def test_what_is_not_there_is_none_and_no_error(
        self, results: Results, key: str, tmp_path: Path
    ) -> None:
        assert results.look(key) is None
        assert results.fetch(key, str(tmp_path / "given")) is None
        assert results.read(key, 10) is None

    def test_a_download_ends_when_it_must_not_go_on(
        self, results: Results, post: Post, key: str, tmp_path: Path
    ) -> None:
        def stop() -> None:
            raise InterruptedError

        post(results.form(key, TERMS, 900), CONTENT)
        with pytest.raises(InterruptedError):
            results.fetch(key, str(tmp_path / "given"), stop)

    def test_the_first_put_of_a_key_wins_and_another_is_told_whether_it_brought_the_same(
        self, results: Results, key: str, tmp_path: Path
    ) -> None:
        told = []
        for content in (b"first", b"first", b"other", b"second"):
            (tmp_path / "file").write_bytes(content)
            told.append(results.put(key, str(tmp_path / "file"), "text/plain"))
        assert told == [True, True, False, False]
        assert results.read(key, 100) == b"first"
        assert results.look(key) == Stored(size=5, content_type="text/plain")

    def test_the_first_bytes_are_read_of_a_longer_object_and_all_of_a_shorter(
        self, results: Results, key: str, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"0123456789")
        results.put(key, str(tmp_path / "file"), "text/plain")
        assert (results.read(key, 4), results.read(key, 99)) == (b"0123", b"0123456789")

    def test_what_lies_below_a_prefix_is_removed_and_counted_and_nothing_else(
        self, results: Results, key: str, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"x")
        for name in (f"{key}/a", f"{key}/b", f"{key}2/c"):
            results.put(name, str(tmp_path / "file"), "text/plain")
        assert results.remove(f"{key}/") == 2
        assert results.look(f"{key}/a") is None
        assert results.look(f"{key}2/c") is not None

    def test_a_copy_is_an_object_of_its_own_with_the_same_bytes_and_type(
        self, results: Results, post: Post, key: str
    ) -> None:
        post(results.form(key, TERMS, 900), CONTENT)
        assert results.copy(key, f"{key}/copy")
        assert results.remove(key, keep=f"{key}/copy") == 1
        assert results.read(f"{key}/copy", 100) == CONTENT
        copied = results.look(f"{key}/copy")
        assert copied is not None
        assert copied.content_type == TERMS.content_type
        assert not results.copy(key, f"{key}/another")
