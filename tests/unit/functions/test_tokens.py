"""Tokens of a trusted issuer, signed by real keys, which are fetched from a real address."""

from __future__ import annotations

import functools
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from functions.authorizer import jwks
from functions.authorizer.jwks import Jwks, fetch
from functions.authorizer.tokens import LEEWAY, MOST_CHARS, Tokens
from functions.authorizer.verdict import verdict
from taskgate.apikeys import issue
from taskgate.errors import BadSetting, Unavailable
from taskgate.issuer import TrustedIssuer
from taskgate.plans import FREE, BuiltIn
from taskgate.principal import USER_SCOPES, Principal
from taskgate.task import Owner
from taskgate.testing.memory.keys import MemoryKeys
from tests.unit.functions.http_events import http_event
from tests.unit.functions.signed_tokens import Issuer, issuing

Ask = Callable[[str], Any]


@pytest.fixture(scope="module")
def _served() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture
def issuer(_served: Issuer) -> Issuer:
    """The same address, as new."""
    _served.published, _served.fetched, _served.out_of_reach = ["rsa", "ec"], 0, False
    return _served


class World:
    """An authorizer that trusts the issuer, with a clock of its own for what it remembers."""

    def __init__(self, trusted: TrustedIssuer) -> None:
        self.now, self.keys = 0.0, MemoryKeys()
        found = Jwks(functools.partial(fetch, trusted.jwks_url), lambda: self.now)
        self.tokens = Tokens(trusted, found)

    def ask(self, text: str) -> dict[str, Any]:
        event = http_event("GET", "/v1/tasks", headers={"Authorization": f"Bearer {text}"})
        answer = verdict(self.keys, BuiltIn(), event, 1_790_000_000, self.tokens)
        return dict(answer["context"])


@pytest.fixture
def world(issuer: Issuer) -> World:
    return World(issuer.trusted)


@pytest.mark.parametrize("key_id", ["rsa", "ec"])
def test_a_token_that_the_issuer_signed_says_who_asks(
    issuer: Issuer, world: World, key_id: str
) -> None:
    who = Principal.from_context(world.ask(issuer.token(key_id, exp=1_900_000_000)))
    assert who.ends_at == 1_900_000_000 + LEEWAY
    assert (who.owner, who.scopes) == (Owner("acme", "ada"), USER_SCOPES)
    assert (who.plan.name, who.max_pending, who.key_id) == ("free", FREE.max_pending, "jwt")


def test_api_keys_work_beside_tokens_and_ask_the_issuer_nothing(
    issuer: Issuer, world: World
) -> None:
    key = issue(world.keys, Owner("acme", "bob"), USER_SCOPES)
    assert world.ask(key)["user"] == "bob"
    assert issuer.fetched == 0


def test_an_issuer_makes_administrators_but_never_an_operator(issuer: Issuer, world: World) -> None:
    token = issuer.token(scope=["tasks:read", "admin", "operator", "delegate", 7])
    assert world.ask(token)["scopes"] == "admin delegate tasks:read"


BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "somebody-else"},
    "no audience": {"aud": None},
    "no expiry": {"exp": None},
    "not yet good": {"nbf": 4_000_000_000},
    "no tenant": {"tenant": None},
    "a tenant that would leave its partition": {"tenant": "acme#ada"},
    "a user that is no name": {"sub": "auth0|123"},
    "a list of tenants": {"tenant": ["acme"]},
}


@pytest.mark.parametrize("claims", BAD_CLAIMS.values(), ids=BAD_CLAIMS)
def test_a_token_with_other_claims_is_refused(
    issuer: Issuer, world: World, claims: dict[str, Any]
) -> None:
    assert world.ask(issuer.token(**claims)) == {"refused": "unauthenticated"}


def test_a_token_past_its_time_is_told_so(issuer: Issuer, world: World) -> None:
    assert world.ask(issuer.token(exp=1_700_000_000)) == {"refused": "expired_key"}


def _forgeries(issuer: Issuer) -> dict[str, str]:
    head, body, signature = issuer.token().split(".")
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    rs, es = {"alg": "RS256", "kid": "rsa"}, {"alg": "ES256", "kid": "rsa"}
    return {
        "alg none": jwt.encode(issuer.claims(), "", "none", headers={"kid": "rsa"}),
        "alg none with another's signature": f"{_part({**rs, 'alg': 'none'})}.{body}.{signature}",
        "the public key as an HMAC secret": _hmac(issuer),
        "signed by another": jwt.encode(issuer.claims(), stranger, "RS256", headers=rs),
        "an unknown key": jwt.encode(issuer.claims(), stranger, "RS256", headers={"kid": "new"}),
        "no key id": jwt.encode(issuer.claims(), issuer.keys["rsa"], "RS256"),
        "a key of its own in the header": jwt.encode(
            issuer.claims(), stranger, "RS256", headers={**rs, "jku": "https://evil.example"}
        ),
        "another algorithm than the key's": f"{_part(es)}.{body}.{signature}",
        "a stronger algorithm than allowed": jwt.encode(
            issuer.claims(), issuer.keys["rsa"], "RS512", headers={"kid": "rsa"}
        ),
        "a key for encryption": jwt.encode(
            issuer.claims(), issuer.keys["rsa"], "RS256", headers={"kid": "for encryption"}
        ),
        "other claims under the same signature": f"{head}.{_part({'sub': 'eve'})}.{signature}",
        "no signature": f"{head}.{body}.",
        "nonsense": "a.b.c",
        "dots": "..",
        "too long": issuer.token(padding="x" * MOST_CHARS),
    }


def _part(content: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def _hmac(issuer: Issuer) -> str:
    """The oldest trick: PyJWT would not sign so, and must not verify it either."""
    import hmac  # noqa: PLC0415

    text = f"{_part({'alg': 'HS256', 'kid': 'rsa'})}.{_part(issuer.claims())}"
    digest = hmac.digest(issuer.public_pem("rsa"), text.encode(), "sha256")
    return f"{text}.{urlsafe_b64encode(digest).decode().rstrip('=')}"


@pytest.mark.parametrize("name", list(_forgeries(Issuer(url="https://x"))))
def test_a_forged_token_is_refused(issuer: Issuer, world: World, name: str) -> None:
    assert world.ask(_forgeries(issuer)[name]) == {"refused": "unauthenticated"}
    assert world.ask(issuer.token())["user"] == "ada"


def test_keys_are_fetched_once_for_many_and_anew_when_the_issuer_rotates(
    issuer: Issuer, world: World
) -> None:
    issuer.published = ["rsa"]
    for _ in range(5):
        assert world.ask(issuer.token())["user"] == "ada"
    assert issuer.fetched == 1
    issuer.published = ["ec"]
    world.now += jwks.PACE_SECONDS
    assert world.ask(issuer.token("ec"))["user"] == "ada"
    assert world.ask(issuer.token("rsa")) == {"refused": "unauthenticated"}


def test_invented_key_ids_do_not_make_the_issuer_pay(issuer: Issuer, world: World) -> None:
    for number in range(20):
        stranger = jwt.encode({"sub": "x"}, "s" * 32, "HS256", headers={"kid": str(number)})
        forged = ".".join([_part({"alg": "RS256", "kid": str(number)}), *stranger.split(".")[1:]])
        assert world.ask(forged) == {"refused": "unauthenticated"}
    assert issuer.fetched == 1


def test_while_the_issuer_is_away_known_keys_are_good_for_an_hour_and_then_nobody_can_tell(
    issuer: Issuer, world: World
) -> None:
    assert world.ask(issuer.token())["user"] == "ada"
    issuer.out_of_reach = True
    world.now += jwks.STALE_SECONDS - 1
    assert world.ask(issuer.token())["user"] == "ada"
    world.now += 1
    with pytest.raises(Unavailable):
        world.ask(issuer.token())


def test_keys_that_lie_behind_a_redirect_are_not_taken(issuer: Issuer) -> None:
    moved = replace(issuer.trusted, jwks_url=f"{issuer.url}/moved.json")
    with pytest.raises(Unavailable):
        World(moved).ask(issuer.token())


def test_an_issuer_reads_back_from_the_environment_as_it_was_set() -> None:
    issuer = TrustedIssuer(
        issuer="https://id.example.com/", audience="a", jwks_url="https://id.example.com/jwks"
    )
    assert TrustedIssuer.read(str(issuer)) == issuer
    assert TrustedIssuer.read("unset") is None


@pytest.mark.parametrize(
    "wrong",
    [{"jwks_url": "http://id.example.com/"}, {"issuer": "id"}, {"audience": ""}, {"plan": ""}],
)
def test_a_setting_that_could_not_be_trusted_is_refused_by_its_name(wrong: dict[str, str]) -> None:
    good = {"issuer": "https://i.example", "audience": "a", "jwks_url": "https://i.example/jwks"}
    with pytest.raises(BadSetting, match=next(iter(wrong))):
        TrustedIssuer(**{**good, **wrong})


@pytest.mark.parametrize("text", ["{", "[]", '{"issuer": "https://i.example"}', "null"])
def test_what_is_no_issuer_fails_at_the_start(text: str) -> None:
    with pytest.raises(BadSetting):
        TrustedIssuer.read(text)
