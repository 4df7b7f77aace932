"""Shared rates on the `ephemeral` table: a leaky bucket is one number, when it will be empty."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Value, int_of, n, s

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 3600
REMEMBERED: Final = 1000
MAX_TRIES: Final = 3


class DynamoRates:
    """The `Rates` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now
        self._busy: OrderedDict[str, int] = OrderedDict()
        """Until when a bucket is not empty, as far as this process saw: only where to begin."""

    def admit(self, key: str, interval_ms: int, burst: int) -> int | None:
        """1 call for an idle bucket and for a busy one that this process filled itself.

        A retry of the SDK after a lost answer takes a second drop: the caller loses one of its
        burst, and nobody else anything.
        """
        now = self._now()
        room = now + (burst - 1) * interval_ms
        starting = self._busy.get(key, 0) <= now
        for _ in range(MAX_TRIES):
            add = self._start if starting else self._add_within
            done, empty_at = add(key, now, interval_ms, room)
            self._remember(key, empty_at)
            if done:
                return None
            if empty_at > room:
                return empty_at - (burst - 1) * interval_ms
            starting = empty_at <= now
        # Others were quicker each time, and none of them filled it: there is room.
        return None

    def reserve(self, key: str, interval_ms: int, burst: int) -> int:
        now = self._now()
        done, empty_at = self._add(key, now, interval_ms)
        if not done:
            done, empty_at = self._start(key, now, interval_ms)
        if not done:
            # Lost to another's start: the bucket is not empty any more.
            done, empty_at = self._add(key, now, interval_ms)
        return max(now, (empty_at if done else now + interval_ms) - burst * interval_ms)

    def _add(self, key: str, now: int, interval_ms: int) -> tuple[bool, int]:
        values = {":interval": n(interval_ms), ":now": n(now), ":expires": n(_expiry(now))}
        return self._update(
            key,
            "SET #empty_at = #empty_at + :interval, #expires_at = :expires",
            "#empty_at > :now",
            values,
        )

    def _add_within(self, key: str, now: int, interval_ms: int, room: int) -> tuple[bool, int]:
        values = {
            ":interval": n(interval_ms),
            ":now": n(now),
            ":room": n(room),
            ":expires": n(_expiry(room)),
        }
        return self._update(
            key,
            "SET #empty_at = #empty_at + :interval, #expires_at = :expires",
            "#empty_at > :now AND #empty_at <= :room",
            values,
        )

    def _start(self, key: str, now: int, interval_ms: int, room: int = 0) -> tuple[bool, int]:
        expires = n(_expiry(max(now, room)))
        values = {":start": n(now + interval_ms), ":now": n(now), ":expires": expires}
        return self._update(
            key,
            "SET #empty_at = :start, #expires_at = :expires",
            "attribute_not_exists(#empty_at) OR #empty_at <= :now",
            values,
        )

    def _remember(self, key: str, empty_at: int) -> None:
        self._busy[key] = empty_at
        self._busy.move_to_end(key)
        if len(self._busy) > REMEMBERED:
            self._busy.popitem(last=False)

    def _update(
        self, key: str, update: str, condition: str, values: dict[str, Value]
    ) -> tuple[bool, int]:
        """Whether it was done, and when the bucket will be empty, either way (0: it is)."""
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
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            item: Any = error.response.get("Item", {})
            return False, int_of(item, "empty_at")
        return True, int_of(answer["Attributes"], "empty_at")


def _expiry(now: int) -> int:
    return now // 1000 + KEPT_SECONDS
