"""Cases of other projects about transactions and indexes that are refused for a while (B60, B77)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from functions.http.problems import problem_of
from taskgate.aws import clients
from taskgate.aws.ports import build
from taskgate.aws.transactions import TRIES, Cancelled, transact
from taskgate.errors import Unavailable
from taskgate.gateway.views import listing, reading
from taskgate.gateway.views.cursors import Cursors
from taskgate.ports import Ports
from taskgate.testing import aws_resources
from taskgate.testing.conformance import World
from tests.unit.functions.api_world import ADA

Scripted = list[ClientError | None]
"""What each try is answered with; None for success."""
BUILDING = "Cannot read from backfilling global secondary index: by_user"
MISSING = "The table does not have the specified index: by_user"


class Transactions:
    """A client that answers by a script."""

    def __init__(self, script: Scripted) -> None:
        self.script, self.tries = script, 0

    def transact_write_items(self, **_: Any) -> None:
        self.tries += 1
        if error := self.script[min(self.tries, len(self.script)) - 1]:
            raise error


def refused(*codes: str) -> ClientError:
    reasons = [{"Code": code, "Item": {"pk": {"S": "x"}}} for code in codes]
    return _error("TransactionCanceledException", CancellationReasons=reasons)


def _error(code: str, message: str = "injected", **more: Any) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": message}, **more}
    return ClientError(answer, "TransactWriteItems")


def _transacted(script: Scripted) -> int:
    client: Any = Transactions(script)
    transact(client, [{}], sleep=lambda _: None)
    return int(client.tries)


@pytest.mark.parametrize(
    "passing",
    [
        refused("None", "TransactionConflict"),
        refused("ThrottlingError"),
        refused("None", "ProvisionedThroughputExceeded", "None"),
        _error("TransactionConflictException"),
    ],
    ids=["a conflict", "throttled", "a hot key", "a conflict with a plain write"],
)
def test_a_transaction_that_met_another_or_was_throttled_is_tried_again_then_503(
    passing: ClientError,
) -> None:
    assert _transacted([passing, passing, None]) == 3
    client: Any = Transactions([passing])
    with pytest.raises(Unavailable) as raised:
        transact(client, [{}], sleep=lambda _: None)
    assert client.tries == TRIES
    problem = problem_of(raised.value)
    assert (problem.status, problem.retry_after) == (503, 2)


@pytest.mark.parametrize(
    "codes",
    [
        ("ConditionalCheckFailed",),
        ("None", "ConditionalCheckFailed"),
        ("ConditionalCheckFailed", "TransactionConflict"),
    ],
)
def test_a_failed_condition_is_told_by_its_action_and_never_tried_again(
    codes: tuple[str, ...],
) -> None:
    client: Any = Transactions([refused(*codes)])
    with pytest.raises(Cancelled) as raised:
        transact(client, [{}], sleep=lambda _: None)
    assert list(raised.value.failed) == [codes.index("ConditionalCheckFailed")]
    assert client.tries == 1


@pytest.mark.parametrize("code", ["ItemCollectionSizeLimitExceeded", "ValidationError"])
def test_what_only_a_bug_can_cause_is_neither_tried_again_nor_called_absent(code: str) -> None:
    client: Any = Transactions([refused(code)])
    with pytest.raises(ClientError):
        transact(client, [{}], sleep=lambda _: None)
    assert client.tries == 1


@pytest.fixture
def ports() -> Iterator[Ports]:
    with mock_aws():
        yield build(aws_resources.create("cases"))


def _list(ports: Ports) -> Any:
    return listing.listed(ports, Cursors(lambda: bytes(32)), ADA, 10, None)


@pytest.mark.parametrize("words", [BUILDING, MISSING])
def test_a_list_whose_index_is_still_being_made_is_503_and_all_else_goes_on(
    ports: Ports, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: Any = ports.tasks._client  # type: ignore[attr-defined]
    query = client.query

    def unready(**asked: Any) -> Any:
        if "IndexName" in asked:
            raise _error("ValidationException", words)
        return query(**asked)

    monkeypatch.setattr(client, "query", unready)
    task = World(ports, ADA.owner).new()
    with pytest.raises(Unavailable) as raised:
        _list(ports)
    assert problem_of(raised.value).status == 503
    assert reading.view(ports, ADA, task.id).task == task
    assert reading.stats(ports, ADA).active == {task.id}
    monkeypatch.undo()
    assert [row.id for row in _list(ports).rows] == [task.id]


def test_any_other_request_that_dynamodb_calls_invalid_is_our_own_mistake() -> None:
    def ask() -> None:
        with clients.available():
            raise _error("ValidationException", "One or more parameter values were invalid")

    asked: Callable[[], None] = ask
    with pytest.raises(ClientError) as raised:
        asked()
    assert problem_of(raised.value).status == 500
