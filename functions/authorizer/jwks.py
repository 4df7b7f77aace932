"""The public keys of the trusted issuer, fetched when they are needed and kept for a while."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from taskgate.errors import Unavailable
from taskgate.events import swallowed

if TYPE_CHECKING:
    from jwt import PyJWK

KEPT_SECONDS: Final = 600
STALE_SECONDS: Final = 3600
"""While the issuer is out of reach its last keys are good for so long."""
PACE_SECONDS: Final = 30
"""An unknown key id has the keys fetched anew, but no oftener: ids are the caller's to invent."""
MOST_BYTES: Final = 256 * 1024
TIMEOUT: Final = 3


class Jwks:
    """Keys by id. `now` is monotonic seconds."""

    def __init__(self, fetch: Callable[[], bytes], now: Callable[[], float]) -> None:
        self._fetch, self._now = fetch, now
        self._keys: Mapping[str, PyJWK] = {}
        self._loaded_at: float | None = None
        self._tried_at: float | None = None

    def find(self, key_id: str) -> PyJWK | None:
        """The key of this id; None when the issuer has none. `Unavailable` when nobody can tell."""
        if (self._older(KEPT_SECONDS) or key_id not in self._keys) and self._may_try():
            self._load()
        if self._older(STALE_SECONDS):
            raise Unavailable("The issuer's keys are out of reach.")
        return self._keys.get(key_id)

    def _older(self, seconds: float) -> bool:
        return self._loaded_at is None or self._now() - self._loaded_at >= seconds

    def _may_try(self) -> bool:
        return self._tried_at is None or self._now() - self._tried_at >= PACE_SECONDS

    def _load(self) -> None:
        self._tried_at = self._now()
        try:
            self._keys = _signing_keys(json.loads(self._fetch()))
        except (OSError, ValueError, LookupError, TypeError) as error:
            swallowed("jwks_not_fetched", error)
            return
        self._loaded_at = self._now()


def fetch(url: str) -> bytes:
    """The JWKS. A redirect is not followed: it would be another's word."""
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(url, timeout=TIMEOUT) as answer:
        return bytes(answer.read(MOST_BYTES))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None makes urllib raise the answer as an `HTTPError`."""


def _signing_keys(document: Mapping[str, Any]) -> dict[str, PyJWK]:
    """Those for signatures that have an id; one that we cannot read does not spoil the others."""
    import jwt  # noqa: PLC0415 - only a stage that trusts an issuer pays for it

    found = {}
    for raw in document["keys"]:
        try:
            if raw.get("use", "sig") == "sig" and "kid" in raw:
                found[str(raw["kid"])] = jwt.PyJWK(raw)
        except (jwt.PyJWTError, AttributeError, LookupError, TypeError, ValueError) as error:
            swallowed("jwk_not_read", error)
    return found
