"""The authorizer: who a key is, cheaply, and never a false no."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.authorizer import remembered
from functions.authorizer.remembered import RememberedKeys, RememberedPlans
from functions.authorizer.verdict import verdict
from taskgate.apikeys import id_of, issue, revoke
from taskgate.errors import Unauthenticated, Unavailable
from taskgate.keystore import ApiKey, Keys, KeyStore
from taskgate.marks import Acting
from taskgate.plans import PAID, UNPLANNED, BuiltIn, Plan, Plans
from taskgate.principal import Principal
from taskgate.task import Owner
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.plans import MemoryPlans
from tests.unit.functions.http_events import http_event

OWNER = Owner("acme", "ada")
SCOPES = frozenset({"tasks:read", "tasks:write"})
BUILT_IN = BuiltIn()
NOW = 1_790_000_000


class Reads:
    """A key store that counts its reads."""

    def __init__(self, keys: KeyStore) -> None:
        self.keys, self.count = keys, 0

    def get_key(self, key_id: str) -> ApiKey | None:
        self.count += 1
        return self.keys.get_key(key_id)


class Gone:
    def get_key(self, key_id: str) -> ApiKey | None:
        raise Unavailable


@pytest.fixture
def reads() -> Reads:
    return Reads(MemoryWorld().keys)


def _ask(keys: Keys, header: str | None, now: int = NOW, plans: Plans = BUILT_IN) -> dict[str, Any]:
    headers = {} if header is None else {"Authorization": header}
    event = {"type": "REQUEST", **http_event("GET", "/v1/tasks", headers=headers)}
    return verdict(keys, plans, event, now)


def _key(reads: Reads, expires_at: int | None = None) -> str:
    return issue(reads.keys, OWNER, SCOPES, max_pending=7, expires_at=expires_at)


def test_a_good_key_brings_its_principal(reads: Reads) -> None:
    answer = _ask(reads, f"Bearer {_key(reads)}")
    assert answer["isAuthorized"] is True
    principal = Principal.from_context(answer["context"])
    assert (principal.owner, principal.scopes, principal.max_pending) == (OWNER, SCOPES, 7)


def test_a_key_with_an_end_brings_it_along(reads: Reads) -> None:
    context = _ask(reads, f"Bearer {_key(reads, NOW + 60)}")["context"]
    assert Principal.from_context(context).ends_at == NOW + 60
    assert Principal.from_context({**context, "ends_at": ""}).ends_at is None
    context.pop("ends_at")  # as an authorizer of before wrote it
    assert Principal.from_context(context).ends_at is None


def test_the_context_is_texts_only(reads: Reads) -> None:
    context = _ask(reads, f"Bearer {_key(reads)}")["context"]
    assert all(isinstance(value, str) for value in context.values())


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_is_told_by_its_letters_not_their_case(reads: Reads, scheme: str) -> None:
    assert "tenant" in _ask(reads, f"{scheme} {_key(reads)}")["context"]


BAD = (None, "", "Bearer", "Bearer ", "Basic dGc6eA==", "Bearer tg_x", "Bearer tg_abc_def", "tg_x")


@pytest.mark.parametrize("header", BAD, ids=repr)
def test_what_is_no_key_is_refused_without_a_read(reads: Reads, header: str | None) -> None:
    assert _ask(reads, header)["context"] == {"refused": "unauthenticated"}
    assert reads.count == 0


def test_a_refusal_names_no_principal(reads: Reads) -> None:
    text = _key(reads)
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    assert _ask(reads, f"Bearer {wrong}")["context"] == {"refused": "unauthenticated"}


def test_a_revoked_key_is_refused(reads: Reads) -> None:
    text = _key(reads)
    revoke(reads.keys, id_of(text), Acting("olga", NOW))
    assert _ask(reads, f"Bearer {text}")["context"] == {"refused": "unauthenticated"}


def test_an_expired_key_is_told_so_but_only_with_the_right_secret(reads: Reads) -> None:
    text = _key(reads, expires_at=NOW)
    assert _ask(reads, f"Bearer {text}")["context"] == {"refused": "expired_key"}
    wrong = text[:-2] + "__"
    assert _ask(reads, f"Bearer {wrong}")["context"] == {"refused": "unauthenticated"}


def test_a_store_out_of_reach_is_an_error_never_a_no() -> None:
    with pytest.raises(Unavailable):
        _ask(Gone(), "Bearer tg_abcdefghijkl_" + "x" * 43)


def test_the_key_is_never_logged(reads: Reads, caplog: pytest.LogCaptureFixture) -> None:
    text = _key(reads)
    for header in (f"Bearer {text}", f"Bearer {text[:-1]}_", f"Bearer {text}x"):
        _ask(reads, header)
    assert "key_refused" in caplog.text
    assert text[16:40] not in caplog.text


def test_a_key_is_read_once_and_again_after_a_while(reads: Reads) -> None:
    now = [0.0]
    keys = RememberedKeys(reads, lambda: now[0])
    header = f"Bearer {_key(reads)}"
    for _ in range(5):
        _ask(keys, header)
    assert reads.count == 1
    now[0] += remembered.SECONDS
    _ask(keys, header)
    assert reads.count == 2


def test_guesses_at_one_key_cost_one_read(reads: Reads) -> None:
    keys = RememberedKeys(reads, lambda: 0.0)
    known = _key(reads)[3:15]
    for key_id in (known, "unknownunkno"):
        reads.count = 0
        for n in range(20):
            _ask(keys, f"Bearer tg_{key_id}_{n:043d}")
        assert reads.count == 1


def test_expiry_is_looked_at_each_time_though_the_key_is_remembered(reads: Reads) -> None:
    keys = RememberedKeys(reads, lambda: 0.0)
    header = f"Bearer {_key(reads, expires_at=NOW + 5)}"
    assert "tenant" in _ask(keys, header, NOW)["context"]
    assert _ask(keys, header, NOW + 5)["context"] == {"refused": "expired_key"}


def test_memory_is_bounded_against_guessing(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST", 10)
    keys = RememberedKeys(reads, lambda: 0.0)
    for n in range(50):
        keys.get_key(f"{n:012d}")
    assert len(keys._keys._known) == 10


def test_an_outage_is_not_remembered(reads: Reads) -> None:
    keys = RememberedKeys(Gone(), lambda: 0.0)
    with pytest.raises(Unavailable):
        keys.get_key("abcdefghijkl")
    assert not keys._keys._known


class PlanReads(MemoryPlans):
    """A plan store that counts its reads."""

    count = 0

    def get_plan(self, name: str) -> Plan | None:
        self.count += 1
        return super().get_plan(name)


def _planned(reads: Reads, max_pending: int | None = None) -> str:
    return f"Bearer {issue(reads.keys, OWNER, SCOPES, plan='paid', max_pending=max_pending)}"


def test_the_limits_of_the_plan_come_with_the_principal(reads: Reads) -> None:
    who = Principal.from_context(_ask(reads, _planned(reads))["context"])
    assert (who.max_pending, who.plan) == (100, replace(PAID, max_pending=who.plan.max_pending))


def test_a_keys_own_limit_goes_before_its_plans(reads: Reads) -> None:
    assert Principal.from_context(_ask(reads, _planned(reads, 7))["context"]).max_pending == 7


def test_a_plan_set_at_run_time_counts_without_a_deploy_and_costs_a_read_a_while(
    reads: Reads,
) -> None:
    now, stored = [0.0], PlanReads()
    keys, plans = RememberedKeys(reads, lambda: now[0]), RememberedPlans(stored, lambda: now[0])
    header = _planned(reads)
    for _ in range(5):
        _ask(keys, header, plans=plans)
    assert (reads.count, stored.count) == (1, 1)
    stored.write_plan(replace(PAID, max_pending=8, submits_per_minute=5))
    now[0] += remembered.SECONDS
    who = Principal.from_context(_ask(keys, header, plans=plans)["context"])
    assert (who.max_pending, who.plan.submits_per_minute) == (8, 5)


def test_a_context_of_an_older_authorizer_is_still_understood() -> None:
    old = {"tenant": "acme", "user": "ada", "scopes": "admin", "max_pending": "7", "key_id": "k"}
    who = Principal.from_context(old)
    assert (who.max_pending, who.plan) == (7, UNPLANNED)


@pytest.mark.parametrize("wrong", [{"burst": "x"}, {"priorities": "urgent"}])
def test_a_context_that_no_authorizer_wrote_is_no_principal(wrong: dict[str, str]) -> None:
    good = Principal(OWNER, SCOPES, 7, "k", PAID).as_context()
    with pytest.raises(Unauthenticated):
        Principal.from_context({**good, **wrong})
