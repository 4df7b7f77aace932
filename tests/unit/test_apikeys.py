"""The life of an API key: issued, rotated with an overlap, revoked at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.apikeys import authenticate, id_of, issue, revoke, rotate
from taskgate.errors import ExpiredKey, KeyEnded, Unauthenticated, UnknownKey
from taskgate.keystore import ApiKey
from taskgate.marks import Acting
from taskgate.task import Owner
from taskgate.testing.memory.keys import MemoryKeys

OWNER = Owner("acme", "ada")
SCOPES = frozenset({"tasks:read"})
NOW = 1_790_000_000
OLGA = Acting("olga", NOW * 1000)


def _issued(keys: MemoryKeys, expires_at: int | None = None) -> str:
    return issue(
        keys, OWNER, SCOPES, max_pending=7, plan="paid", expires_at=expires_at, by=OLGA
    )  # fmt: skip


def _key(keys: MemoryKeys, text: str) -> ApiKey:
    key = keys.get_key(id_of(text))
    assert key is not None
    return key


def test_both_keys_work_in_the_overlap_and_only_the_new_one_after_it() -> None:
    keys = MemoryKeys()
    old = _issued(keys)
    new = rotate(keys, id_of(old), OLGA, overlap=3600)
    for text in (old, new):
        assert authenticate(keys, text, NOW + 3599).owner == OWNER
    assert authenticate(keys, new, NOW + 3600).max_pending == 7
    with pytest.raises(ExpiredKey):
        authenticate(keys, old, NOW + 3600)


def test_rotation_gives_the_same_rights_and_leaves_a_trail_on_both() -> None:
    keys = MemoryKeys()
    old = _issued(keys)
    new = rotate(keys, id_of(old), OLGA, overlap=0)
    first, second = _key(keys, old), _key(keys, new)
    assert (second.owner, second.scopes, second.plan) == (first.owner, first.scopes, "paid")
    assert [m.what for m in first.trail] == ["issued", f"rotated to {second.id}"]
    assert [(m.who, m.what) for m in second.trail] == [("olga", f"issued for {first.id}")]


def test_rotation_never_makes_the_old_key_live_longer() -> None:
    keys = MemoryKeys()
    old = _issued(keys, expires_at=NOW + 60)
    new = rotate(keys, id_of(old), OLGA, overlap=3600, expires_at=NOW + 9000)
    assert (_key(keys, old).expires_at, _key(keys, new).expires_at) == (NOW + 60, NOW + 9000)


def test_a_revoked_key_is_refused_at_once_and_stays_on_record() -> None:
    keys = MemoryKeys()
    text = _issued(keys)
    revoke(keys, id_of(text), OLGA)
    with pytest.raises(Unauthenticated):
        authenticate(keys, text, NOW)
    again = revoke(keys, id_of(text), OLGA)
    assert [m.what for m in again.trail] == ["issued", "revoked"]


def test_an_ended_key_is_not_rotated_and_an_unknown_one_is_said_to_be() -> None:
    keys = MemoryKeys()
    revoked, expired = _issued(keys), _issued(keys, expires_at=NOW)
    revoke(keys, id_of(revoked), OLGA)
    for text in (revoked, expired):
        with pytest.raises(KeyEnded):
            rotate(keys, id_of(text), OLGA, overlap=0)
    for verb in (lambda: rotate(keys, "nothing", OLGA, overlap=0), lambda: revoke(keys, "n", OLGA)):
        with pytest.raises(UnknownKey):
            verb()


class RevokedMeanwhile(MemoryKeys):
    """Another operator revokes the key between the new one and the change of the old one."""

    def put_key(self, key: ApiKey) -> None:
        super().put_key(key)
        if "issued for" in key.trail[0].what:
            old = self._keys[key.trail[0].what.removeprefix("issued for ")]
            self.change_key(replace(old, revoked=True))


def test_a_key_revoked_while_it_is_rotated_does_not_live_on_under_another_id() -> None:
    keys = RevokedMeanwhile()
    old = _issued(keys)
    with pytest.raises(KeyEnded):
        rotate(keys, id_of(old), OLGA, overlap=3600)
    assert all(key.revoked for key in keys._keys.values())


class ChangedMeanwhile(MemoryKeys):
    """Each first change comes too late: another was quicker."""

    def __init__(self) -> None:
        super().__init__()
        self.late = True

    def change_key(self, key: ApiKey) -> bool:
        if self.late:
            self.late = False
            super().change_key(replace(key, revoked=False, plan="free"))
        return super().change_key(key)


def test_a_revocation_that_comes_second_is_made_on_what_the_first_left() -> None:
    keys = ChangedMeanwhile()
    text = _issued(keys)
    revoke(keys, id_of(text), OLGA)
    key = _key(keys, text)
    assert (key.revoked, key.plan) == (True, "free")


def test_an_operators_key_is_an_administrators_too() -> None:
    keys = MemoryKeys()
    text = issue(keys, OWNER, frozenset({"operator"}))
    assert _key(keys, text).scopes == {"operator", "admin"}
