"""Cursors that only the list which gave them accepts: sealed with a key that no caller has."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from typing import Final

from taskgate.errors import BadCursor

MAX_CURSOR: Final = 200
SEAL_BYTES: Final = 16


class Cursors:
    """Seals and opens cursors. `key` is asked for when the first one is in hand, and not before."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    def seal(self, of: str, start: str) -> str:
        """A cursor to `start`, good for this list only: `of` names the list, the caller, the filter.

        It can be read, and holds nothing but an id of the caller's own; it cannot be made.
        """
        sealed = self._mark(of, start) + start.encode()
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, of: str, cursor: str) -> str:
        """Where the page starts; `BadCursor` for anything that `seal` did not make for this list."""
        if len(cursor) > MAX_CURSOR:
            raise BadCursor
        try:
            sealed = base64.b64decode(
                cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
            )
            start = sealed[SEAL_BYTES:].decode()
        except ValueError:
            raise BadCursor from None
        good = hmac.compare_digest(sealed[:SEAL_BYTES], self._mark(of, start))
        # Base64 has spare bits at its end: one cursor, one spelling.
        if not good or self.seal(of, start) != cursor:
            raise BadCursor
        return start

    def _mark(self, of: str, start: str) -> bytes:
        text = json.dumps([of, start])
        return hmac.digest(self._key(), text.encode(), "sha256")[:SEAL_BYTES]
