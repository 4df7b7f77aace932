"""JWTs of the trusted issuer: signature, issuer, audience and times first, then who it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.authorizer.jwks import Jwks
from taskgate.errors import ExpiredKey, Unauthenticated
from taskgate.issuer import TrustedIssuer
from taskgate.plans import Plans, plan_of
from taskgate.principal import NAME, USER_SCOPES, Principal
from taskgate.task import Owner

ALGORITHMS: Final = ("RS256", "ES256")
"""Signatures by a private key, and no others: with HS256 the public key would be the secret."""
LEEWAY: Final = 30
MOST_CHARS: Final = 8192
GRANTED: Final = USER_SCOPES | {"delegate", "admin"}
"""An issuer may make administrators of its tenants, but never an operator of the deployment."""
KEY_ID: Final = "jwt"
"""Stands for a key's id in histories."""


class Tokens:
    """Who comes with a token."""

    def __init__(self, issuer: TrustedIssuer, jwks: Jwks) -> None:
        self._issuer, self._jwks = issuer, jwks

    def authenticate(self, text: str, plans: Plans) -> Principal:
        """The principal of a token, or `Unauthenticated` without a word on which part was wrong."""
        claims = self._verified(text)
        tenant = claims.get(self._issuer.tenant_claim)
        user = claims.get(self._issuer.user_claim)
        if not (_is_name(tenant) and _is_name(user)):
            raise Unauthenticated
        plan = plan_of(plans, self._issuer.plan)
        scopes = _words(claims.get(self._issuer.scope_claim)) & GRANTED
        owner, ends_at = Owner(str(tenant), str(user)), int(claims["exp"]) + LEEWAY
        return Principal(owner, scopes, plan.max_pending, KEY_ID, plan, ends_at=ends_at)

    def _verified(self, text: str) -> Mapping[str, Any]:
        import jwt  # noqa: PLC0415 - only a stage that trusts an issuer pays for it

        if len(text) > MOST_CHARS:
            raise Unauthenticated
        try:
            header = jwt.get_unverified_header(text)
            key = self._key(header)
            claims = jwt.decode(
                text,
                key,
                algorithms=[key.algorithm_name],
                audience=self._issuer.audience,
                issuer=self._issuer.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise ExpiredKey from None
        except jwt.PyJWTError:
            raise Unauthenticated from None
        return dict(claims)

    def _key(self, header: Mapping[str, Any]) -> Any:
        """The issuer's key that the header names, for the algorithm that it names and the key has."""
        named, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(named, str) or algorithm not in ALGORITHMS:
            raise Unauthenticated
        key = self._jwks.find(named)
        if key is None or key.algorithm_name != algorithm:
            raise Unauthenticated
        return key


def _is_name(claim: Any) -> bool:
    return isinstance(claim, str) and NAME.fullmatch(claim) is not None


def _words(claim: Any) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset(claim.split())
    return (
        frozenset(w for w in claim if isinstance(w, str))
        if isinstance(claim, list)
        else frozenset()
    )
