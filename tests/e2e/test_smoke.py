"""The smoke set that is meant for a real account, against the deployed local stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskgate.apikeys import ApiKey
from taskgate.aws.keys import DynamoKeys
from taskgate.cli.connection import LocalNote
from taskgate.local import LocalStack
from taskgate.testing.receiver import Receiver
from tests.e2e.waiting import PATIENCE
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("privilege")]


@pytest.fixture(autouse=True)
def local(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in which `--local` means this stack."""
    LocalNote(stack.api_url, "tg_none", stack.endpoint_url).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    # What the command would set for its process alone must not outlive this test.
    for name, value in stack.client_variables.items():
        monkeypatch.setenv(name, value)


def test_every_promise_of_the_smoke_set_is_kept_and_nothing_is_left_behind(
    stack: LocalStack, run: Run
) -> None:
    worker = stack.start_worker("cpu")
    try:
        with Receiver() as receiver:
            ran = run("smoke", "--local", "--callback-url", receiver.url)
            told, *_ = receiver.wait_for(1, PATIENCE)
    finally:
        worker.stop()
    assert ran.code == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("✓") == 11
    assert b'"task.canceled"' in told.body
    assert _unfinished(stack) == 0
    mine = [key for key in _keys(stack) if key.owner.tenant == "smoke"]
    assert mine
    assert all(key.revoked for key in mine)


def test_a_broken_promise_ends_it_with_exit_1_and_is_cleaned_up_after(
    stack: LocalStack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody works, and nobody will: a result within the time is a promise that cannot be kept.
    monkeypatch.setattr("taskgate.cli.smoke_promises.RESULT_SECONDS", 1)
    ran = run("smoke", "--local")
    assert ran.code == 1
    assert "✗ it runs" in ran.stdout
    assert "is a worker up?" in ran.stdout
    assert _unfinished(stack) == 0


def _keys(stack: LocalStack) -> Iterator[ApiKey]:
    """Of all pages: other tests of this stack issue keys, too."""
    keys, start = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table), None
    while True:
        page = keys.list_keys(start)
        yield from page.rows
        if (start := page.next) is None:
            return


def _unfinished(stack: LocalStack) -> int:
    scanned = stack.client("dynamodb").scan(
        TableName=stack.environment.tasks_table,
        FilterExpression="begins_with(#pk, :mine)",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":mine": {"S": "LEDGER#smoke#"}},
    )
    return sum(len(item["active"]["SS"]) for item in scanned["Items"] if "active" in item)
