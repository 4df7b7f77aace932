"""What the OpenAPI document promises holds for whatever it allows one to ask, and what it forbids."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from functions.api.openapi import OPERATIONS
from functions.authorizer.verdict import verdict
from taskgate.apikeys import issue
from taskgate.principal import Principal
from taskgate.routes import ROUTES, Route
from taskgate.testing.memory.keys import MemoryKeys
from taskgate.testing.memory.plans import MemoryPlans
from tests.contract.asking import Plan, ask
from tests.contract.gateway import Gateway, served
from tests.contract.seeded import named, seeded
from tests.unit.functions.api_world import ADA, OPERATOR, ApiWorld

MANY = 100_000
"""The limit on unfinished tasks has its own tests; here it would end the walk early."""


@pytest.mark.parametrize("caller", [ADA, OPERATOR], ids=["an owner", "an operator"])
def test_whatever_is_asked_the_answer_is_one_that_the_document_promises(
    caller: Principal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api, now = ApiWorld(), 1_790_000_000
    # The walk revokes keys that it is told of: its own is on another record.
    callers = MemoryKeys()
    key = issue(callers, caller.owner, caller.scopes, max_pending=MANY)
    ids = seeded(api, tmp_path, replace(caller, max_pending=MANY))
    names = named(api, caller)
    gateway = Gateway(
        lambda event: verdict(callers, MemoryPlans(), event, now),
        lambda event: api.api.answer(event, None),
    )
    with served(gateway) as url:
        run = ask(
            Plan(url=url, key=key, task_ids=ids, named=names, examples=40, seconds=900), tmp_path
        )
    with capsys.disabled():
        print(f"\ncontract: {run.cases} cases as {caller.owner}")  # noqa: T201 - the figure
    assert run.good, run.report
    if "admin" in caller.scopes:
        _confirm_a_bulk_act(gateway, key)
    allowed = {route for route in ROUTES if _scope(route) in {None, *caller.scopes}}
    well = {route for route, status in gateway.answered if status < 400}
    assert well == allowed, "a route that never answers well has hardly been asked"


def _scope(route: Route) -> str | None:
    return OPERATIONS[route.method, route.path].scope


def _confirm_a_bulk_act(gateway: Gateway, key: str) -> None:
    """The one route that no walk can guess its way into: its token is told once, by the dry run."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    wanted = {"act": "cancel", "tenant": "seeded", "reason": "a walk"}
    dry = gateway("POST", "/v1/admin/bulk", headers, json.dumps(wanted).encode())
    told = json.loads(dry["body"])
    path = f"/v1/admin/bulk/{told['bulk']['id']}/confirm"
    gateway("POST", path, headers, json.dumps({"token": told["token"]}).encode())
