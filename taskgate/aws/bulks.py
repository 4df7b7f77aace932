"""Bulk acts on the `tasks` table: an item each, with a clock of its own while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws import guarded
from taskgate.aws.clients import available
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.bulks import KEPT_SECONDS, Bulk, from_text, to_text
from taskgate.pages import Page

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CLOCK: Final = "bulk"
"""Their part of the index `by_clock`; no sweep of tasks reads it."""
MOST: Final = 10
LISTED: Final = "#bulks"
"""All stand under this owner in the index `by_user`, as keys and plans do under theirs."""
PAGE: Final = 20


class DynamoBulks:
    """The `BulkStore` port."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def get_bulk(self, bulk_id: str) -> Bulk | None:
        item = guarded.get(self._client, self._table, _key(bulk_id))
        return from_text(text_of(item, "bulk"), int_of(item, "version")) if item else None

    def write_bulk(self, bulk: Bulk) -> bool:
        return guarded.put_version(self._client, self._table, _encode(bulk), bulk.version)

    def list_bulks(self, start: str | None = None) -> Page[Bulk]:
        more: Any = {"ExclusiveStartKey": {"owner": s(LISTED), **_key(start)}} if start else {}
        with available():
            page = self._client.query(
                TableName=self._table,
                IndexName="by_user",
                KeyConditionExpression="#owner = :owner",
                ExpressionAttributeNames={"#owner": "owner"},
                ExpressionAttributeValues={":owner": s(LISTED)},
                ScanIndexForward=False,
                Limit=PAGE,
                **more,
            )
        ids = [_id(item) for item in page["Items"]]
        found = [self.get_bulk(bulk_id) for bulk_id in ids]
        return Page([b for b in found if b], ids[-1] if "LastEvaluatedKey" in page else None)

    def due_bulks(self, until: int) -> Sequence[str]:
        with available():
            page = self._client.query(
                TableName=self._table,
                IndexName="by_clock",
                KeyConditionExpression="#shard = :shard AND #due <= :until",
                ExpressionAttributeNames={"#shard": "clock_shard", "#due": "due_at"},
                ExpressionAttributeValues={":shard": s(CLOCK), ":until": n(until)},
                Limit=MOST,
            )
        return [_id(item) for item in page["Items"]]


def _encode(bulk: Bulk) -> dict[str, Value]:
    item = {
        **_key(bulk.id),
        "owner": s(LISTED),
        "bulk": s(to_text(bulk)),
        "version": n(bulk.version + 1),
        "expires_at": n(bulk.planned_at // 1000 + KEPT_SECONDS),
    }
    if bulk.due_at is not None:
        item |= {"clock_shard": s(CLOCK), "due_at": n(bulk.due_at)}
    return item


def _id(item: Item) -> str:
    return text_of(item, "pk").removeprefix("BULK#")


def _key(bulk_id: str) -> dict[str, Value]:
    return {"pk": s(f"BULK#{bulk_id}"), "sk": s("BULK")}
