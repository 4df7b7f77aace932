"""API keys: ``tg_<key id>_<secret>``. Only the secret's SHA-256 is ever stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

from taskgate.errors import ExpiredKey, Unauthenticated
from taskgate.ports import ApiKey, KeyStore
from taskgate.principal import Principal
from taskgate.task import Owner

SHAPE: Final = re.compile(r"tg_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def issue(
    keys: KeyStore,
    owner: Owner,
    scopes: frozenset[str],
    *,
    max_pending: int,
    expires_at: int | None = None,
) -> str:
    """Store a new key and return its text, which is shown this once. `expires_at`: epoch s."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
    secret = secrets.token_urlsafe(32)
    keys.put_key(
        ApiKey(
            id=key_id,
            secret_sha256=_digest(secret),
            owner=owner,
            scopes=scopes,
            max_pending=max_pending,
            expires_at=expires_at,
        )
    )
    return f"tg_{key_id}_{secret}"


def authenticate(keys: KeyStore, text: str, now_seconds: int) -> Principal:
    """The principal of a key, or `Unauthenticated` without a word on which part was wrong."""
    shape = SHAPE.fullmatch(text)
    if shape is None:
        raise Unauthenticated
    key = keys.get_key(shape[1])
    # The secret is compared in constant time, and compared even when there is no such key.
    expected = key.secret_sha256 if key else bytes(32)
    good = hmac.compare_digest(expected, _digest(shape[2]))
    if key is None or not good or key.revoked:
        raise Unauthenticated
    if key.expires_at is not None and key.expires_at <= now_seconds:
        raise ExpiredKey
    return Principal(key.owner, key.scopes, key.max_pending, key.id)


def _digest(secret: str) -> bytes:
    # 256 random bits: nothing to guess, so no slow hash is needed.
    return hashlib.sha256(secret.encode()).digest()
