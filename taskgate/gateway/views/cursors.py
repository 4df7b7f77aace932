"""Cursors that only the list which gave them accepts: sealed with a key that no caller has."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from typing import Final

from taskgate.errors import BadCursor

MAX_CURSOR: Final = 600
"""Room for the longest start: a receiver, which is a tenant and a host."""
SEAL_BYTES: Final = 16


class Cursors:
    """Seals and opens cursors. `key` is asked for when the first one is in hand, and not before."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    def seal(self, of: str, start: str) -> str:
        """A cursor to `start`, good for this list only: `of` names the list, the caller, the filter.

        It can neither be made nor read: a list by filter goes on from what it did not show.
        """
        return _spelt(self._key(), of, start)

    def open(self, of: str, cursor: str) -> str:
        """Where the page starts; `BadCursor` for anything that `seal` did not make for this list."""
        if len(cursor) > MAX_CURSOR:
            raise BadCursor
        key = self._key()
        try:
            sealed = base64.b64decode(
                cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
            )
            mark = sealed[:SEAL_BYTES]
            start = _veiled(key, mark, sealed[SEAL_BYTES:]).decode()
        except ValueError:
            raise BadCursor from None
        good = hmac.compare_digest(mark, _mark(key, of, start))
        # Base64 has spare bits at its end: one cursor, one spelling.
        if not good or _spelt(key, of, start) != cursor:
            raise BadCursor
        return start


def _spelt(key: bytes, of: str, start: str) -> str:
    mark = _mark(key, of, start)
    sealed = mark + _veiled(key, mark, start.encode())
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def _mark(key: bytes, of: str, start: str) -> bytes:
    text = json.dumps([of, start])
    return hmac.digest(key, text.encode(), "sha256")[:SEAL_BYTES]


def _veiled(key: bytes, mark: bytes, text: bytes) -> bytes:
    """The text under a stream that its own mark chooses, and the text again from that (SIV)."""
    stream = b"".join(
        hmac.digest(key, b"veil" + mark + bytes([n]), "sha256") for n in range(len(text) // 32 + 1)
    )
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))
