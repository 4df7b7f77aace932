"""`taskgate keys` and `taskgate plans` on a real store, as an operator types it."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from taskgate.apikeys import authenticate
from taskgate.aws import clients, master
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.ports import build
from taskgate.cli import office
from taskgate.errors import ExpiredKey, Unauthenticated
from taskgate.ports import Ports
from taskgate.task import Owner
from taskgate.testing import aws_resources
from tests.unit.cli.conftest import Run

NAMED = ("--tenant", "acme", "--user", "ada")


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    master.master.cache_clear()
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="master", SecretString="m" * 64)
        client.close()
        told = replace(aws_resources.create("keys"), webhook_master="master")
        monkeypatch.setattr(office, "_environment", lambda stage: told)
        yield build(told)
    master.master.cache_clear()


@pytest.fixture
def keys(ports: Ports) -> DynamoKeys:
    return DynamoKeys(clients.dynamodb(), table="keys-tasks")


def _issue(run: Run, *more: str) -> Any:
    ran = run("keys", "issue", *NAMED, "--stage", "dev", "--json", *more)
    assert ran.code == 0, ran.stderr
    return json.loads(ran.stdout)


def _listed(run: Run, *more: str) -> Any:
    return json.loads(run("keys", "list", "--stage", "dev", "--json", *more).stdout)


def test_a_key_of_a_plan_that_nobody_set_is_issued_and_that_is_said(ports: Ports, run: Run) -> None:
    for plan, told in (("payed", True), ("paid", False)):
        ran = run("keys", "issue", *NAMED, "--stage", "dev", "--plan", plan)
        assert ran.code == 0
        assert ("No plan payed is set" in ran.stderr) is told


def test_an_issued_key_works_at_once_and_its_tenants_signing_secret_is_told(
    run: Run, keys: DynamoKeys
) -> None:
    told = _issue(run)
    who = authenticate(keys, told["key"], int(time.time()))
    assert (who.owner, who.scopes) == (Owner("acme", "ada"), {"tasks:read", "tasks:write"})
    assert [s.startswith("whsec_") for s in told["webhook_secrets"]] == [True]
    assert told["id"] == who.key_id


def test_scopes_plan_and_expiry_are_as_asked(run: Run, keys: DynamoKeys) -> None:
    more = ("--scope", "admin", "--plan", "paid", "--expires", "90d", "--max-pending", "5")
    key = keys.get_key(_issue(run, *more)["id"])
    assert key is not None
    assert (key.scopes, key.plan, key.max_pending) == ({"admin"}, "paid", 5)
    assert key.expires_at is not None
    assert key.expires_at - time.time() == pytest.approx(90 * 86_400, abs=60)


def test_the_list_shows_rights_state_and_trail_and_never_a_secret(
    run: Run, keys: DynamoKeys
) -> None:
    told = _issue(run)
    run("keys", "issue", "--tenant", "other", "--user", "bob", "--stage", "dev")
    [shown] = _listed(run, "--tenant", "acme")
    assert (shown["id"], shown["state"], shown["plan"]) == (told["id"], "active", "free")
    assert [mark["what"] for mark in shown["trail"]] == ["issued"]
    assert len(_listed(run)) == 2
    text = run("keys", "list", "--stage", "dev").stdout + json.dumps(shown)
    assert told["key"][16:] not in text
    assert keys.get_key(told["id"]).secret_sha256.hex() not in text  # type: ignore[union-attr]


def test_a_rotated_key_ends_after_its_overlap(run: Run, keys: DynamoKeys) -> None:
    old = _issue(run)
    ran = run("keys", "rotate", old["id"], "--stage", "dev", "--overlap", "2h", "--json")
    new, now = json.loads(ran.stdout), int(time.time())
    assert authenticate(keys, old["key"], now).owner == authenticate(keys, new["key"], now).owner
    with pytest.raises(ExpiredKey):
        authenticate(keys, old["key"], now + 7300)
    assert authenticate(keys, new["key"], now + 7300)


def test_a_revoked_key_is_refused_and_the_trail_says_who_did_it(run: Run, keys: DynamoKeys) -> None:
    told = _issue(run)
    assert run("keys", "revoke", told["id"], "--stage", "dev").code == 0
    with pytest.raises(Unauthenticated):
        authenticate(keys, told["key"], int(time.time()))
    [shown] = _listed(run)
    assert shown["state"] == "revoked"
    assert shown["trail"][-1]["what"] == "revoked"
    assert shown["trail"][-1]["who"]
    assert run("keys", "rotate", told["id"], "--stage", "dev").code == 2


@pytest.mark.parametrize("verb", ["rotate", "revoke"])
def test_an_unknown_key_is_3(run: Run, ports: Ports, verb: str) -> None:
    ran = run("keys", verb, "nothing", "--stage", "dev")
    assert ran.code == 3
    assert "taskgate keys list --stage dev" in ran.stderr


WRONG = (
    ("--scope", "everything"),
    ("--expires", "tomorrow"),
    ("--plan", "a/b"),
    ("--tenant", "a#b"),
    ("--max-pending", "0"),
)


@pytest.mark.parametrize("more", WRONG, ids=lambda more: more[0])
def test_what_is_wrong_is_said_and_no_key_is_made(
    run: Run, ports: Ports, more: tuple[str, str]
) -> None:
    assert run("keys", "issue", *NAMED, "--stage", "dev", *more).code == 2
    assert _listed(run) == []


def test_no_key_is_issued_when_its_signing_secret_cannot_be_read(run: Run, ports: Ports) -> None:
    client = boto3.client("secretsmanager")
    client.delete_secret(SecretId="master", ForceDeleteWithoutRecovery=True)
    client.close()
    assert run("keys", "issue", *NAMED, "--stage", "dev").code == 5
    assert _listed(run) == []


@pytest.mark.parametrize("verb", [("issue", *NAMED), ("list",), ("rotate", "x"), ("revoke", "x")])
def test_no_deployment_is_ever_guessed_for_keys(run: Run, verb: tuple[str, ...]) -> None:
    assert run("keys", *verb).code == 2


PAGES = ("docs/how-to/api-keys.md", "docs/how-to/plans.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_about_keys_and_plans_is_one_that_works(
    run: Run, ports: Ports, page: str
) -> None:
    text = (Path(__file__).parents[3] / page).read_text("utf-8")
    lines = re.findall(r"^taskgate (.*)$", text, re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        assert run(*shlex.split(line)).code in {0, 3}, line


def _plans(run: Run) -> dict[str, Any]:
    shown = json.loads(run("plans", "show", "--stage", "dev", "--json").stdout)
    return {plan["name"]: plan for plan in shown}


def test_a_plan_is_set_at_run_time_and_keeps_what_was_not_named(run: Run, ports: Ports) -> None:
    assert {name: p["max_pending"] for name, p in _plans(run).items()} == {
        "free": 3,
        "paid": 100,
        "operator": 1000,
    }
    set_free = ("plans", "set", "free", "--stage", "dev")
    assert run(*set_free, "--max-pending", "5", "--max-processing", "none").code == 0
    assert run(*set_free, "--submits-per-minute", "7", "--priority", "low").code == 0
    assert run(*set_free, "--ledger-shards", "4").code == 0
    free = _plans(run)["free"]
    assert (free["max_pending"], free["max_processing"], free["version"]) == (5, None, 3)
    assert free["ledger_shards"] == 4
    assert (free["submits_per_minute"], free["priorities"]) == (7, ["low"])


def test_a_new_plan_starts_as_free_is_built_in(run: Run, ports: Ports) -> None:
    assert run("plans", "set", "bulk", "--stage", "dev", "--max-pending", "50").code == 0
    bulk, free = _plans(run)["bulk"], _plans(run)["free"]
    [mark] = bulk.pop("trail")
    assert mark["what"] == "set max_pending"
    assert {**bulk, "trail": []} == {**free, "name": "bulk", "max_pending": 50, "version": 1}


BAD_PLANS = (
    ("--max-pending", "0"),
    ("--submits-per-minute", "many"),
    ("--priority", "urgent"),
    ("--burst", "0"),
    ("--ledger-shards", "257"),
)


@pytest.mark.parametrize("more", BAD_PLANS, ids=lambda more: more[0])
def test_a_limit_out_of_bounds_is_said_and_nothing_is_set(
    run: Run, ports: Ports, more: tuple[str, str]
) -> None:
    assert run("plans", "set", "free", "--stage", "dev", *more).code == 2
    assert _plans(run)["free"]["version"] == 0


def test_plans_are_shown_to_people_with_where_they_come_from(run: Run, ports: Ports) -> None:
    run("plans", "set", "paid", "--stage", "dev", "--burst", "9")
    shown = run("plans", "show", "--stage", "dev").stdout
    assert "built in" in shown
    assert "set" in shown
