"""Shared rates on the `ephemeral` table: a leaky bucket is one number, when it will be empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Value, int_of, n, s

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 3600


class DynamoRates:
    """The `Rates` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def reserve(self, key: str, interval_ms: int, burst: int) -> int:
        now = self._now()
        empty_at = self._add(key, now, interval_ms) or self._start(key, now, interval_ms)
        # Lost to another's start: the bucket is not empty any more.
        empty_at = empty_at or self._add(key, now, interval_ms) or now + interval_ms
        return max(now, empty_at - burst * interval_ms)

    def _add(self, key: str, now: int, interval_ms: int) -> int | None:
        values = {":interval": n(interval_ms), ":now": n(now), ":expires": n(_expiry(now))}
        return self._update(
            key,
            "SET #empty_at = #empty_at + :interval, #expires_at = :expires",
            "#empty_at > :now",
            values,
        )

    def _start(self, key: str, now: int, interval_ms: int) -> int | None:
        values = {":start": n(now + interval_ms), ":now": n(now), ":expires": n(_expiry(now))}
        return self._update(
            key,
            "SET #empty_at = :start, #expires_at = :expires",
            "attribute_not_exists(#empty_at) OR #empty_at <= :now",
            values,
        )

    def _update(
        self, key: str, update: str, condition: str, values: dict[str, Value]
    ) -> int | None:
        try:
            with available():
                answer = self._client.update_item(
                    TableName=self._table,
                    Key={"pk": s(key)},
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeNames={
                        "#empty_at": "empty_at",
                        "#expires_at": "expires_at",
                    },
                    ExpressionAttributeValues=values,
                    ReturnValues="UPDATED_NEW",
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return None
        return int_of(answer["Attributes"], "empty_at")


def _expiry(now: int) -> int:
    return now // 1000 + KEPT_SECONDS
