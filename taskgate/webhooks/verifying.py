"""The receiver's half: is this callback by Taskgate, of now, and whole?"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from taskgate.webhooks.deriving import key_of
from taskgate.webhooks.errors import (
    BadHeader,
    BadSecret,
    MissingHeader,
    NotAnEvent,
    OutsideTolerance,
    SignatureMismatch,
)
from taskgate.webhooks.signing import ID, SIGNATURE, TIMESTAMP, digest

TOLERANCE: Final = 300
"""Seconds between signing and verifying, either way."""
MOST_SIGNATURES: Final = 10
"""More in one header are not looked at; a rotation needs two."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> dict[str, Any]:
    """The event, or a `WebhookError` that says why it is not to be believed.

    `body` is the request's raw bytes: JSON that was parsed and written again is other bytes.
    `headers` are found in any case. `secret` is one, or several while you rotate. `now` is epoch
    seconds.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError("body must be the raw bytes of the request, before anything decoded them")
    body = bytes(body)
    message_id, at, signatures = (_header(headers, name) for name in (ID, TIMESTAMP, SIGNATURE))
    _check_age(at, tolerance, time.time() if now is None else now)
    if not _any_matches(_signatures(signatures), _keys(secret), message_id, at, body):
        raise SignatureMismatch
    return _event(body)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), "")
    if not value:
        raise MissingHeader(name)
    return value


def _check_age(at: str, tolerance: float, now: float) -> None:
    if not (at.isascii() and at.isdigit() and len(at) <= 15):
        raise BadHeader(TIMESTAMP, "seconds since 1970, digits only")
    age = now - int(at)
    if abs(age) > tolerance:
        raise OutsideTolerance(age, tolerance)


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise BadSecret("Give at least one secret to verify with.")
    return [key_of(one) for one in secrets]


def _signatures(header: str) -> list[bytes]:
    """Those of version 1; other versions are for other receivers."""
    words = header.split()[:MOST_SIGNATURES]
    decoded = [_decoded(word[3:]) for word in words if word.startswith("v1,")]
    return [signature for signature in decoded if signature]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _any_matches(
    signatures: list[bytes], keys: list[bytes], message_id: str, at: str, body: bytes
) -> bool:
    # Every pair is compared, each in constant time: how long it takes tells nothing of a match.
    wanted = [digest(key, message_id, at, body) for key in keys]
    return sum(hmac.compare_digest(w, given) for w in wanted for given in signatures) > 0


def _event(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        raise NotAnEvent from None
    if not isinstance(event, dict):
        raise NotAnEvent
    return event
