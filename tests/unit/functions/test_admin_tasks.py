"""Tasks across tenants, for those who look after them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.functions.api_world import ADA, GHOST, OPERATOR, ApiWorld


def test_an_operator_finds_anybodys_task_whole_with_its_tenant_and_user(api: ApiWorld) -> None:
    task_id = api.submitted()
    found = api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).json
    assert (found["tenant"], found["user"], found["owes"]) == ("acme", "ada", [])
    assert found["task"] == api.get(f"/v1/tasks/{task_id}").json
    assert found["due_at"] is not None


def test_a_settled_task_has_no_clock_and_is_found_when_its_owner_is_told_no_more(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    api.settle()
    api.world.clock.advance(91 * 24 * 3600)
    assert api.get(f"/v1/tasks/{task_id}").code == "task_expired"
    found = api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).json
    assert (found["due_at"], found["owes"], found["task"]["state"]) == (None, [], "succeeded")


def test_an_owner_without_the_scope_is_refused_even_for_an_own_task(api: ApiWorld) -> None:
    assert api.get(f"/v1/admin/tasks/{api.submitted()}", ADA).code == "missing_scope"


def test_an_unknown_id_is_no_task(api: ApiWorld) -> None:
    for task_id in (GHOST, "nonsense"):
        assert api.get(f"/v1/admin/tasks/{task_id}", OPERATOR).code == "task_not_found"
