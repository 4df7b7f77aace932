"""Keys, plans and caps against the deployed local stack, as operators and callers meet them.

The emulator holds each function to its role, so a right that is missing fails here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from taskgate.cli.connection import LocalNote
from taskgate.local import LocalStack
from tests.e2e.waiting import until
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("keys")]

TASK = {"type": "embed_document", "input": {"text": "one"}}
NAMED = ("--tenant", "keyed", "--local", "--json")


@pytest.fixture(autouse=True)
def local(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in which `--local` means this stack."""
    LocalNote(stack.api_url, "tg_none", stack.endpoint_url).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    # What the command would set for its process alone must not outlive this test.
    for name, value in stack.client_variables.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def http(stack: LocalStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=60) as client:
        yield client


def _told(run: Run, *line: str) -> Any:
    ran = run(*line)
    assert ran.code == 0, ran.stderr
    return json.loads(ran.stdout)


def _submit(http: httpx.Client, key: str, **fields: Any) -> httpx.Response:
    return http.post(
        "/v1/tasks", json={**TASK, **fields}, headers={"Authorization": f"Bearer {key}"}
    )


def test_a_key_lives_from_issue_to_revocation(run: Run, http: httpx.Client) -> None:
    old = _told(run, "keys", "issue", *NAMED, "--user", "ann", "--plan", "paid")
    assert old["webhook_secrets"][0].startswith("whsec_")
    assert _submit(http, old["key"], priority="high").status_code == 202
    new = _told(run, "keys", "rotate", old["id"], "--local", "--json", "--overlap", "1h")
    assert _submit(http, new["key"]).status_code == 202
    gone = _told(run, "keys", "issue", *NAMED, "--user", "gone")
    _told(run, "keys", "revoke", gone["id"], "--local", "--json")
    refused = _submit(http, gone["key"])
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    states = {k["id"]: k["state"] for k in _told(run, "keys", "list", *NAMED)}
    assert (states[old["id"]], states[new["id"]], states[gone["id"]]) == (
        "active",
        "active",
        "revoked",
    )


def test_a_plans_books_in_several_shards_hold_its_limit_and_are_told_as_one(
    run: Run, http: httpx.Client
) -> None:
    limits = ("--max-pending", "5", "--ledger-shards", "3", "--submits-per-minute", "none")
    _told(run, "plans", "set", "sharded", *limits, "--burst", "50", "--local", "--json")
    key = _told(run, "keys", "issue", *NAMED, "--user", "sue", "--plan", "sharded")["key"]
    # Later ones, so that no worker of another test ends one meanwhile.
    codes = [_submit(http, key, delay=3600).status_code for _ in range(6)]
    assert codes == [202] * 5 + [429]
    told = http.get("/v1/stats", headers={"Authorization": f"Bearer {key}"}).json()
    assert (told["active"], told["submitted"]) == (5, 5)
    _told(run, "plans", "set", "sharded", "--ledger-shards", "1", "--local", "--json")
    for task in http.get("/v1/tasks", headers={"Authorization": f"Bearer {key}"}).json()["tasks"]:
        ended = http.post(
            f"/v1/tasks/{task['id']}/cancel", headers={"Authorization": f"Bearer {key}"}
        )
        assert ended.json()["state"] == "canceled"
    told = http.get("/v1/stats", headers={"Authorization": f"Bearer {key}"}).json()
    assert (told["active"], told["canceled"]) == (0, 5)


def test_a_plan_that_is_set_while_the_stack_runs_limits_whoever_has_it(
    run: Run, http: httpx.Client
) -> None:
    limits = ("--submits-per-minute", "1", "--burst", "2", "--priority", "low", "--max-pending")
    _told(run, "plans", "set", "tiny", "--local", "--json", *limits, "5")
    key = _told(run, "keys", "issue", *NAMED, "--user", "tim", "--plan", "tiny")["key"]
    wrong = _submit(http, key)
    assert (wrong.status_code, wrong.json()["code"]) == (403, "priority_not_allowed")
    answers = [_submit(http, key, priority="low") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert answers[-1].json()["code"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60


def test_a_tenant_at_its_cap_runs_its_tasks_one_after_the_other_and_all_of_them(
    run: Run, stack: LocalStack, http: httpx.Client
) -> None:
    _told(run, "plans", "set", "single", "--local", "--json", "--max-processing", "1")
    named = ("--tenant", "capped", "--local", "--json", "--user", "cap")
    key = _told(run, "keys", "issue", *named, "--plan", "single")["key"]
    ids = [_submit(http, key).json()["id"] for _ in range(3)]
    workers = [stack.start_worker("cpu") for _ in range(2)]
    try:
        ends = [_ended(http, key, task_id) for task_id in ids]
    finally:
        for worker in workers:
            worker.stop()
    assert [task["state"] for task in ends] == ["succeeded"] * 3
    runs = sorted((task["started_at"], task["ended_at"]) for task in ends)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(runs))


def _ended(http: httpx.Client, key: str, task_id: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"}

    def ended() -> Any:
        http.get(f"/v1/tasks/{task_id}/status?wait=20", headers=headers)
        task = http.get(f"/v1/tasks/{task_id}", headers=headers).json()
        return task if task["state"] in {"succeeded", "failed", "timed_out", "canceled"} else None

    return until(ended)
