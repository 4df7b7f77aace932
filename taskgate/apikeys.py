"""API keys: ``tg_<key id>_<secret>``. Only the secret's SHA-256 is ever stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from taskgate.errors import ExpiredKey, KeyEnded, Unauthenticated, Unavailable, UnknownKey
from taskgate.keystore import ApiKey, Keys, KeyStore
from taskgate.marks import NOBODY, Acting
from taskgate.plans import BuiltIn, Plans, plan_of
from taskgate.principal import Principal
from taskgate.task import Owner

KEY_ID: Final = re.compile(r"[a-z0-9]{12}")
SHAPE: Final = re.compile(r"tg_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")
MAX_REBUILDS: Final = 5
BUILT_IN_ALONE: Final = BuiltIn()
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def issue(
    keys: KeyStore,
    owner: Owner,
    scopes: frozenset[str],
    *,
    max_pending: int | None = None,
    plan: str | None = None,
    expires_at: int | None = None,
    by: Acting = NOBODY,
) -> str:
    """Store a new key and return its text, which is shown this once. `expires_at`: epoch s.

    Who looks after every tenant looks after each: `operator` comes with `admin`.
    """
    blank = ApiKey(
        id="",
        secret_sha256=b"",
        owner=owner,
        scopes=scopes | {"admin"} if "operator" in scopes else scopes,
        max_pending=max_pending,
        plan=plan,
        expires_at=expires_at,
    )
    return _store(keys, blank.marked(by.mark("issued")))


def rotate(
    keys: KeyStore, key_id: str, by: Acting, *, overlap: int, expires_at: int | None = None
) -> str:
    """A new key with the same rights; the old one lives on for `overlap` seconds at most.

    The new one is stored first: if anything breaks between, nobody is locked out, and a key whose
    text was never shown is of no use to anybody.
    """
    old, now = _living(keys, key_id, by), by.at // 1000
    fresh = replace(old, expires_at=expires_at, version=0, trail=())
    text = _store(keys, fresh.marked(by.mark(f"issued for {key_id}")))
    new_id, until = id_of(text), now + overlap

    def outlived(key: ApiKey) -> ApiKey:
        ends = min(key.expires_at or until, until)
        return replace(key, expires_at=ends).marked(by.mark(f"rotated to {new_id}"))

    try:
        _changed(keys, key_id, by, outlived)
    except KeyEnded:
        # Revoked in between: what was taken from its owner must not live on under another id.
        revoke(keys, new_id, by)
        raise
    return text


def revoke(keys: KeyStore, key_id: str, by: Acting) -> ApiKey:
    """End a key now. One that is revoked already is left as it is."""
    try:
        return _changed(
            keys, key_id, by, lambda key: replace(key, revoked=True).marked(by.mark("revoked")),
            expired_too=True,
        )  # fmt: skip
    except KeyEnded:
        key = keys.get_key(key_id)
        if key is None:
            raise UnknownKey from None
        return key


def every(keys: KeyStore) -> Iterator[ApiKey]:
    """All keys, page by page."""
    start: str | None = None
    while True:
        page = keys.list_keys(start)
        yield from page.rows
        start = page.next
        if start is None:
            return


def id_of(text: str) -> str:
    """The id in a key's text."""
    return text[3:15]


def authenticate(
    keys: Keys, text: str, now_seconds: int, plans: Plans = BUILT_IN_ALONE
) -> Principal:
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
    plan = plan_of(plans, key.plan)
    limit = key.max_pending or plan.max_pending
    return Principal(key.owner, key.scopes, limit, key.id, plan, ends_at=key.expires_at)


def _store(keys: KeyStore, key: ApiKey) -> str:
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
    secret = secrets.token_urlsafe(32)
    keys.put_key(replace(key, id=key_id, secret_sha256=_digest(secret)))
    return f"tg_{key_id}_{secret}"


def _living(keys: KeyStore, key_id: str, by: Acting, *, expired_too: bool = False) -> ApiKey:
    key = keys.get_key(key_id)
    if key is None:
        raise UnknownKey
    state = key.state(by.at // 1000)
    if state == "revoked" or (state == "expired" and not expired_too):
        raise KeyEnded
    return key


def _changed(
    keys: KeyStore,
    key_id: str,
    by: Acting,
    build: Callable[[ApiKey], ApiKey],
    *,
    expired_too: bool = False,
) -> ApiKey:
    """Write what `build` makes of the key as it is; afresh when another was quicker."""
    for _ in range(MAX_REBUILDS):
        after = build(_living(keys, key_id, by, expired_too=expired_too))
        if keys.change_key(after):
            return after
    raise Unavailable


def _digest(secret: str) -> bytes:
    # 256 random bits: nothing to guess, so no slow hash is needed.
    return hashlib.sha256(secret.encode()).digest()
