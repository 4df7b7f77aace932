"""Transactions: all or nothing, told apart by what cancelled them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Item
from taskgate.errors import TaskgateError, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TRIES: Final = 6
"""Two writers of one ledger meet often; six tries with jitter outlast a burst of tens."""
CONFLICT_BASE_SECONDS: Final = 0.02

PASSING: Final = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)


class Cancelled(TaskgateError):
    """A condition of the transaction did not hold; nothing was written."""

    def __init__(self, failed: dict[int, Item]) -> None:
        super().__init__()
        self.failed = failed
        """For each action whose condition failed, by its position: the item it met, or {}."""


def transact(
    client: DynamoDBClient,
    actions: Sequence[dict[str, Any]],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Write all actions. Raises `Cancelled` for a failed condition, `Unavailable` for a busy one.

    The SDK sends a client token of its own, so its retries cannot apply the actions twice.
    """
    for attempt in range(TRIES):
        if attempt:
            sleep(random.uniform(0, CONFLICT_BASE_SECONDS * 2**attempt))  # noqa: S311 - jitter
        try:
            with available():
                client.transact_write_items(TransactItems=list(actions))  # type: ignore[arg-type]
        except ClientError as error:
            if code_of(error) == "TransactionConflictException":
                continue
            if code_of(error) != "TransactionCanceledException":
                raise
            _judge(error)
        else:
            return
    raise Unavailable("The transaction kept meeting others.")


def _judge(error: ClientError) -> None:
    """Raise for a failed condition or for what only a bug can cause; return to try again."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    codes = [str(reason.get("Code", "None")) for reason in reasons]
    failed = {
        i: reasons[i].get("Item", {})
        for i, code in enumerate(codes)
        if code == "ConditionalCheckFailed"
    }
    if failed:
        raise Cancelled(failed) from error
    if not any(code in PASSING for code in codes):
        raise error
