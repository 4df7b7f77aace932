"""The admin room, deployed: the emulator holds its function to its role, so a missing right fails here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.task import Owner

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("admin")]

TASK = {"type": "embed_document", "input": {"text": "one"}}
USER = frozenset({"tasks:read", "tasks:write"})
Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def asking(stack: LocalStack) -> Iterator[Callable[..., Ask]]:
    """By owner and scopes: how one with a key of these asks."""
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)

    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=30) as http:

        def as_(owner: str, scopes: frozenset[str] = USER) -> Ask:
            tenant, _, user = owner.partition("/")
            key = issue(keys, Owner(tenant, user), scopes, max_pending=50)
            headers = {"Authorization": f"Bearer {key}"}
            return lambda method, path, **more: http.request(
                method, path, headers={**headers, **more.pop("headers", {})}, **more
            )

        yield as_


def test_an_operator_finds_another_tenants_task_and_its_owner_has_no_such_route(
    asking: Callable[..., Ask],
) -> None:
    owner, operator = asking("acme/ada"), asking("ops/olga", SCOPES)
    task_id = owner("POST", "/v1/tasks", json=TASK).json()["id"]
    path = f"/v1/admin/tasks/{task_id}"
    found = operator("GET", path).json()
    assert (found["tenant"], found["user"], found["task"]["id"]) == ("acme", "ada", task_id)
    assert owner("GET", path).status_code == 403
