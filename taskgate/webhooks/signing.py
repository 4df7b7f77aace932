"""The three headers of Standard Webhooks over bytes that were built once."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from typing import Final

from taskgate.webhooks.deriving import key_of
from taskgate.webhooks.errors import BadHeader, BadSecret

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"


def signed(message_id: str, at: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers for one attempt. `message_id` stays over all attempts, `at` (epoch seconds) is the
    attempt's own. Every secret signs; a receiver needs to know one of them.
    """
    if not message_id.isascii() or not message_id.isprintable() or set(message_id) & {" ", "."}:
        # A "." in the id would let one signature stand for two messages.
        raise BadHeader(ID, "visible ASCII without a dot")
    if not secrets:
        raise BadSecret("There is no secret to sign with.")
    return {
        ID: message_id,
        TIMESTAMP: str(at),
        SIGNATURE: " ".join(
            "v1," + base64.b64encode(digest(key_of(secret), message_id, str(at), body)).decode()
            for secret in secrets
        ),
    }


def digest(key: bytes, message_id: str, at: str, body: bytes) -> bytes:
    """HMAC-SHA256 over `id.timestamp.body`, the body as the very bytes of the wire."""
    return hmac.digest(key, f"{message_id}.{at}.".encode() + body, "sha256")
