"""Whose tokens a stage trusts beside its own API keys, and what their claims mean here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

from taskgate.errors import BadSetting

UNSET: Final = "unset"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """An OpenID provider or any other that signs JWTs and publishes its keys as a JWKS."""

    issuer: str
    """What the claim `iss` must be, to the letter."""
    audience: str
    """What the claim `aud` must name: this deployment, and no other service of the issuer."""
    jwks_url: str
    tenant_claim: str = "tenant"
    user_claim: str = "sub"
    scope_claim: str = "scope"
    """A text with blanks between, or a list. `operator` is never taken from it."""
    plan: str = "free"
    """The plan of everybody who comes with a token."""

    def __post_init__(self) -> None:
        for name in ("issuer", "jwks_url"):
            parts = urlsplit(getattr(self, name))
            on_this_machine = (parts.scheme, parts.hostname) == ("http", "127.0.0.1")
            if not (parts.hostname and (parts.scheme == "https" or on_this_machine)):
                raise BadSetting(name, getattr(self, name), "an https URL")
        for name in ("audience", "tenant_claim", "user_claim", "scope_claim", "plan"):
            if not getattr(self, name):
                raise BadSetting(name, "", "a non-empty text")

    def __str__(self) -> str:
        """As it stands in the environment."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> TrustedIssuer | None:
        """What `str` wrote; None for `UNSET`."""
        if text == UNSET:
            return None
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise BadSetting("trusted_issuer", text, "a JSON object of an issuer") from error
