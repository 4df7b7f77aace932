"""The API keys on the `tasks` table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from taskgate.aws import guarded
from taskgate.aws.clients import available
from taskgate.aws.trails import trail, trail_of
from taskgate.aws.values import Item, Value, b, int_of, n, s, ss, text_of
from taskgate.errors import IdTaken
from taskgate.keystore import ApiKey
from taskgate.pages import Page
from taskgate.task import Owner

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LISTED: Final = "#keys"
"""All keys stand under this owner in the index `by_user`. No user's name begins so, so that they are
among nobody's tasks; and to list them costs O(keys), never O(tasks)."""
PAGE: Final = 100


class DynamoKeys:
    """The `KeyStore` port."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def get_key(self, key_id: str) -> ApiKey | None:
        item = guarded.get(self._client, self._table, _key(key_id))
        return _decode(item) if item else None

    def put_key(self, key: ApiKey) -> None:
        if not self._write(key, "attribute_not_exists(#pk)", {"#pk": "pk"}, {}):
            raise IdTaken

    def change_key(self, key: ApiKey) -> bool:
        condition = "attribute_exists(#pk) AND #version = :version"
        if not key.version:
            # Keys of before there were versions.
            condition = "attribute_exists(#pk) AND attribute_not_exists(#version)"
        values = {":version": n(key.version)} if key.version else {}
        return self._write(key, condition, {"#pk": "pk", "#version": "version"}, values)

    def list_keys(self, start: str | None = None) -> Page[ApiKey]:
        more: Any = {"ExclusiveStartKey": {"owner": s(LISTED), **_key(start)}} if start else {}
        with available():
            page = self._client.query(
                TableName=self._table,
                IndexName="by_user",
                KeyConditionExpression="#owner = :owner",
                ExpressionAttributeNames={"#owner": "owner"},
                ExpressionAttributeValues={":owner": s(LISTED)},
                Limit=PAGE,
                **more,
            )
        ids = [_id(item) for item in page["Items"]]
        keys = [self.get_key(key_id) for key_id in ids]
        return Page([k for k in keys if k], ids[-1] if "LastEvaluatedKey" in page else None)

    def _write(
        self, key: ApiKey, condition: str, names: dict[str, str], values: dict[str, Value]
    ) -> bool:
        guard: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        guard |= {"ConditionExpression": condition, "ExpressionAttributeNames": names}
        return guarded.put(self._client, self._table, _encode(key), **guard)


def _encode(key: ApiKey) -> dict[str, Value]:
    # Not `expires_at`: TTL would remove it, and an expired key must be told from an unknown one.
    item: dict[str, Value] = {
        **_key(key.id),
        "owner": s(LISTED),
        "secret": b(key.secret_sha256),
        "principal": s(str(key.owner)),
        "scopes": ss(key.scopes),
        "version": n(key.version + 1),
        "trail": trail(key.trail),
    }
    optional = {"max_pending": key.max_pending, "valid_until": key.expires_at}
    item |= {name: n(value) for name, value in optional.items() if value}
    if key.plan:
        item["plan"] = s(key.plan)
    if key.revoked:
        item["revoked"] = {"BOOL": True}
    return item


def _decode(item: Item) -> ApiKey:
    return ApiKey(
        id=_id(item),
        secret_sha256=bytes(item["secret"]["B"]),
        owner=Owner.parse(text_of(item, "principal")),
        scopes=frozenset(item["scopes"]["SS"]),
        max_pending=int_of(item, "max_pending") or None,
        plan=text_of(item, "plan") or None,
        expires_at=int_of(item, "valid_until") or None,
        revoked="revoked" in item,
        version=int_of(item, "version"),
        trail=trail_of(item),
    )


def _id(item: Item) -> str:
    return text_of(item, "pk").removeprefix("KEY#")


def _key(key_id: str) -> dict[str, Value]:
    return {"pk": s(f"KEY#{key_id}"), "sk": s("KEY")}
