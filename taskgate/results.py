"""The bytes: what lies in the bucket, and the port to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What an object says of itself."""

    size: int
    content_type: str
    sha256: str = ""
    """In hex, as whoever uploaded it declared it; empty when they did not."""
    name: str = ""
    """The name that the file had where it came from; for people only."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An object that was downloaded; `digest` is the SHA-256 of the bytes that came."""

    stored: Stored
    digest: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """What must be posted, and where, to upload one file: every field, then the file."""

    url: str
    fields: Mapping[str, str]


class Results(Protocol):
    """The bucket: results, and what was uploaded for tasks to read.

    Every method may raise `Unavailable`.
    """

    def put(self, key: str, path: str, content_type: str) -> bool:
        """Upload a file once; an object of the same key that is already there wins.

        True when these very bytes lie there afterwards, False when others do.
        """

    def sign(self, key: str, seconds: int, download_name: str | None = None) -> str:
        """A URL that serves the object for that long, without credentials."""

    def good_for(self, seconds: int) -> int:
        """Of so many seconds, how many a URL that is signed now is really good for."""

    def form(self, key: str, terms: Stored, seconds: int) -> Form:
        """What lets its bearer upload exactly this object in that time, and nothing else."""

    def look(self, key: str) -> Stored | None:
        """What is there, without its bytes; None when nothing is."""

    def fetch(
        self, key: str, path: str, go_on: Callable[[], None] = lambda: None
    ) -> Fetched | None:
        """Download the object into a file; None when there is none.

        `go_on` is asked between its parts, and ends the download by raising.
        """

    def copy(self, source: str, target: str) -> bool:
        """Copy an object without its bytes passing through here; False when there is none."""

    def remove(self, prefix: str, keep: str = "") -> int:
        """Remove the objects below `prefix`, but not those below `keep`; returns how many."""

    def read(self, key: str, most: int) -> bytes | None:
        """The object's first `most` bytes; None when there is none."""
