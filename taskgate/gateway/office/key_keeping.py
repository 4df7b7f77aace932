"""API keys as those keep them who look after a tenant, or after all.

Whoever issues a key gives no right away that is not the giver's own: no scope, no plan, no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate import apikeys
from taskgate.errors import FieldProblem, InvalidRequest, UnknownKey
from taskgate.events import event
from taskgate.keystore import ApiKey, KeyStore
from taskgate.marks import Acting
from taskgate.pages import Page
from taskgate.plans import Plans, plan_of
from taskgate.principal import Principal
from taskgate.task import Owner

MAX_LOOKS: Final = 5
"""Store pages that one answer may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The key that somebody asks for. `expires_at`: epoch s."""

    owner: Owner
    scopes: frozenset[str]
    plan: str | None = None
    max_pending: int | None = None
    expires_at: int | None = None


def acting(who: Principal, now: int) -> Acting:
    """How the principal appears in a trail."""
    return Acting(f"{who.owner.user}/{who.key_id}", now)


def issue(keys: KeyStore, plans: Plans, who: Principal, wish: Wish, now: int) -> tuple[ApiKey, str]:
    """A new key and its text, which is shown this once."""
    who.require("admin")
    if wish.owner.tenant != who.owner.tenant or "operator" in wish.scopes:
        who.require("operator")
    _gives(who, wish.scopes)
    _ahead(wish.expires_at, now)
    plan, limit = _limits(plans, who, wish)
    text = apikeys.issue(
        keys,
        wish.owner,
        wish.scopes,
        plan=plan,
        max_pending=limit,
        expires_at=wish.expires_at,
        by=acting(who, now),
    )
    return _told(keys, text, "key_issued", who)


def rotate(
    keys: KeyStore,
    who: Principal,
    key_id: str,
    now: int,
    *,
    overlap: int,
    expires_at: int | None = None,
) -> tuple[ApiKey, str]:
    """A key with the same rights and its text; the old one lives on for `overlap` s at most."""
    _gives(who, kept(keys, who, key_id).scopes)
    _ahead(expires_at, now)
    by = acting(who, now)
    text = apikeys.rotate(keys, key_id, by, overlap=overlap, expires_at=expires_at)
    return _told(keys, text, "key_rotated", who)


def revoke(keys: KeyStore, who: Principal, key_id: str, now: int) -> ApiKey:
    """End a key now. One that is revoked already is left as it is."""
    kept(keys, who, key_id)
    key = apikeys.revoke(keys, key_id, acting(who, now))
    event("key_revoked", key=key_id, by=who.key_id)
    return key


def kept(keys: KeyStore, who: Principal, key_id: str) -> ApiKey:
    """The key, to one who looks after it; any other does not exist."""
    who.require("admin")
    key = keys.get_key(key_id)
    if key is None or not _keeps(who, key):
        raise UnknownKey
    return key


def listed(keys: KeyStore, who: Principal, start: str | None) -> Page[ApiKey]:
    """A page of the keys that the principal looks after; it may be short or empty before the last."""
    who.require("admin")
    found: list[ApiKey] = []
    for _ in range(MAX_LOOKS):
        page = keys.list_keys(start)
        found += [key for key in page.rows if _keeps(who, key)]
        start = page.next
        if start is None or found:
            break
    return Page(found, start)


def _gives(who: Principal, scopes: frozenset[str]) -> None:
    """Raise `MissingScope` for a scope that is not the giver's own: whoever issues or rotates a key
    has it in hand, so a key of more rights would be a way to them.
    """
    if "operator" not in who.scopes:
        for scope in sorted(scopes):
            who.require(scope)


def _keeps(who: Principal, key: ApiKey) -> bool:
    """An operator's key is for operators, whatever tenant it stands in: to rotate it is to have it."""
    return who.manages(key.owner) and ("operator" in who.scopes or "operator" not in key.scopes)


def _limits(plans: Plans, who: Principal, wish: Wish) -> tuple[str | None, int | None]:
    """The plan and the limit of the new key: an operator's choice, or the giver's own at most."""
    if "operator" in who.scopes:
        return wish.plan, wish.max_pending
    own = who.plan.name or None
    if wish.plan not in (None, own):
        raise InvalidRequest(fields=[FieldProblem("plan", f"must be your own: {own or 'none'}")])
    if (wish.max_pending or 0) > who.max_pending:
        bound = f"at most your own limit, {who.max_pending}"
        raise InvalidRequest(fields=[FieldProblem("max_pending", bound)])
    # A limit below the plan's is the giver's key's own, and goes along.
    lower = own is None or who.max_pending < plan_of(plans, own).max_pending
    return own, wish.max_pending or (who.max_pending if lower else None)


def _ahead(expires_at: int | None, now: int) -> None:
    if expires_at is not None and expires_at * 1000 <= now:
        raise InvalidRequest(fields=[FieldProblem("expires_at", "must be ahead")])


def _told(keys: KeyStore, text: str, name: str, who: Principal) -> tuple[ApiKey, str]:
    key = keys.get_key(apikeys.id_of(text))
    if key is None:
        raise UnknownKey
    event(name, key=key.id, tenant=key.owner.tenant, by=who.key_id)
    return key, text
