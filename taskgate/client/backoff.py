"""When to try a request again. Pure: the caller sleeps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

BUSY: Final = frozenset({429, 500, 502, 503, 504})
"""Answers that say "not now"; 500 is also what AWS says while the store of the keys is away."""
LOST: Final = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
"""No answer, or none that can be read. The requests of this client may be sent twice: a submit
carries its Idempotency-Key, the others change nothing the second time; an extension is sent once."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential with full jitter; what the gateway asks for in Retry-After comes on top."""

    attempts: int = 4
    base: float = 0.5
    cap: float = 8.0
    longest_retry_after: float = 30.0
    """A gateway that asks for more patience than this gets its problem reported at once."""
    draw: Callable[[], float] = random.random

    def delay(self, tried: int, retry_after: float | None) -> float | None:
        """Seconds until the next try, or None when it is time to give up."""
        wanted = retry_after or 0.0
        if tried >= self.attempts or wanted > self.longest_retry_after:
            return None
        ceiling: float = min(self.cap, self.base * 2 ** (tried - 1))
        return wanted + ceiling * self.draw()


def retry_after_of(response: httpx.Response) -> float | None:
    """The Retry-After header in seconds; the date form is not used by the gateway."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None
