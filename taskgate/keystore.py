"""The port of the API keys: what is kept of a key, and how it may change.

Every method may raise `Unavailable`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from taskgate.marks import Mark, marked
from taskgate.pages import Page
from taskgate.task import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A stored API key: the hash of its secret, never the secret."""

    id: str
    secret_sha256: bytes
    owner: Owner
    scopes: frozenset[str]
    max_pending: int | None = None
    """The key's own limit of unfinished tasks, before its plan's; None takes the plan's."""
    plan: str | None = None
    expires_at: int | None = None
    """Epoch seconds."""
    revoked: bool = False
    version: int = 0
    trail: tuple[Mark, ...] = ()

    def marked(self, mark: Mark) -> ApiKey:
        """The key with one more mark on its trail."""
        return replace(self, trail=marked(self.trail, mark))

    def state(self, now_seconds: int) -> str:
        """``active``, ``revoked`` or ``expired``."""
        if self.revoked:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now_seconds else "active"


class Keys(Protocol):
    """The API keys, for one who only asks who somebody is."""

    def get_key(self, key_id: str) -> ApiKey | None:
        """The key, read consistently."""


class KeyStore(Keys, Protocol):
    """The API keys, for one who keeps them."""

    def put_key(self, key: ApiKey) -> None:
        """Write a new key; raises `IdTaken` when there is one of this id already."""

    def change_key(self, key: ApiKey) -> bool:
        """Write the key over the one of `key.version`; False when that is not there any more.

        The stored key has the next version. Who it belongs to and its secret never change.
        """

    def list_keys(self, start: str | None = None) -> Page[ApiKey]:
        """All keys, page by page; one that was just issued may be missing for a moment."""
