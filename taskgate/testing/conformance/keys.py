"""What every key store must do. Subclass it, give it `keys`, and pytest runs the promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.apikeys import every
from taskgate.errors import IdTaken
from taskgate.keystore import ApiKey, KeyStore
from taskgate.marks import MAX_TRAIL, Mark
from taskgate.task import Owner

KEY = ApiKey(
    id="k" * 12,
    secret_sha256=bytes(range(32)),
    owner=Owner("acme", "ada"),
    scopes=frozenset({"tasks:read", "admin"}),
    max_pending=7,
    plan="paid",
    expires_at=1_900_000_000,
    trail=(Mark(1, "olga", "issued"),),
)


class KeysConformance:
    """Promises of `KeyStore`."""

    @pytest.fixture
    def keys(self) -> KeyStore:
        """An empty store."""
        raise NotImplementedError

    def test_a_key_reads_back_as_it_was_written(self, keys: KeyStore) -> None:
        bare = replace(KEY, id="b" * 12, max_pending=None, plan=None, expires_at=None, trail=())
        for key in (KEY, bare, replace(KEY, id="r" * 12, revoked=True)):
            keys.put_key(key)
            assert keys.get_key(key.id) == replace(key, version=1)
        assert keys.get_key("nothing") is None

    def test_a_new_key_never_takes_the_place_of_another(self, keys: KeyStore) -> None:
        keys.put_key(KEY)
        with pytest.raises(IdTaken):
            keys.put_key(replace(KEY, owner=Owner("evil", "eve")))
        assert keys.get_key(KEY.id) == replace(KEY, version=1)

    def test_of_two_changes_of_one_version_only_the_first_is_made(self, keys: KeyStore) -> None:
        keys.put_key(KEY)
        read = replace(KEY, version=1)
        first = replace(read, revoked=True).marked(Mark(2, "olga", "revoked"))
        assert keys.change_key(first)
        assert not keys.change_key(replace(read, expires_at=None))
        assert keys.get_key(KEY.id) == replace(first, version=2)

    def test_a_change_of_no_key_makes_none(self, keys: KeyStore) -> None:
        for version in (0, 1):
            assert not keys.change_key(replace(KEY, version=version))
        assert keys.get_key(KEY.id) is None

    def test_the_list_has_every_key_once_whatever_its_state(self, keys: KeyStore) -> None:
        made = {f"{i:012d}" for i in range(230)}
        for key_id in made:
            keys.put_key(replace(KEY, id=key_id, revoked=key_id.endswith("7")))
        found = [key.id for key in every(keys)]
        assert sorted(found) == sorted(made)

    def test_a_trail_is_bounded_and_keeps_who_issued_the_key(self, keys: KeyStore) -> None:
        keys.put_key(KEY)
        for at in range(2, 60):
            key = keys.get_key(KEY.id)
            assert key is not None
            assert keys.change_key(key.marked(Mark(at, "olga", "looked at")))
        key = keys.get_key(KEY.id)
        assert key is not None
        assert len(key.trail) == MAX_TRAIL
        assert (key.trail[0].what, key.trail[-1].at) == ("issued", 59)
