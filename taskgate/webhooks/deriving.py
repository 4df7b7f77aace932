"""One master key, a secret for each tenant and version: nothing is stored, nothing can be lost.

A tenant that learns its secret learns nothing of the master or of another tenant's (HKDF, RFC 5869).
Rotation is a higher version; while both are given, both sign.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from taskgate.webhooks.errors import BadSecret

PREFIX: Final = "whsec_"
MASTER_BYTES: Final = 32
"""The least that a master key may have."""


def secrets_for(master: bytes, tenant: str, versions: Iterable[int]) -> tuple[str, ...]:
    """The tenant's secrets, one for each version, in the order given (the newest first, by habit)."""
    _require_long(master)
    return tuple(_secret(master, tenant, version) for version in versions)


def key_for(master: bytes, purpose: str) -> bytes:
    """A key of the gateway's own, which is no tenant's: no tenant's name is empty."""
    _require_long(master)
    return _hkdf_sha256(master, f"|{purpose}".encode())


def key_of(secret: str) -> bytes:
    """The key of a `whsec_` secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise BadSecret from None
    if not (secret.startswith(PREFIX) and 24 <= len(key) <= 64):
        raise BadSecret
    return key


def _require_long(master: bytes) -> None:
    if len(master) < MASTER_BYTES:
        raise BadSecret(f"The master key has {len(master)} bytes; it needs at least 32.")


def _secret(master: bytes, tenant: str, version: int) -> str:
    # The version has no "|", so no two pairs of tenant and version give one text.
    info = f"{tenant}|{version}".encode()
    return PREFIX + base64.b64encode(_hkdf_sha256(master, info)).decode()


def _hkdf_sha256(master: bytes, info: bytes) -> bytes:
    """HKDF with no salt; 32 bytes are the first block of the expansion."""
    extracted = hmac.digest(bytes(hashlib.sha256().digest_size), master, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")
