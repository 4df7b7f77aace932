"""The API keys on the `tasks` table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskgate.aws.clients import available
from taskgate.aws.values import Value, b, int_of, n, s, ss, text_of
from taskgate.ports import ApiKey
from taskgate.task import Owner

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoKeys:
    """The `KeyStore` port."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def get_key(self, key_id: str) -> ApiKey | None:
        with available():
            answer = self._client.get_item(
                # A key is used right after it was issued, and a "no" is remembered.
                TableName=self._table,
                Key=_key(key_id),
                ConsistentRead=True,
            )
        item = answer.get("Item")
        if item is None:
            return None
        return ApiKey(
            id=key_id,
            secret_sha256=bytes(item["secret"]["B"]),
            owner=Owner.parse(text_of(item, "principal")),
            scopes=frozenset(item["scopes"]["SS"]),
            max_pending=int_of(item, "max_pending"),
            expires_at=int_of(item, "valid_until") or None,
            revoked="revoked" in item,
        )

    def put_key(self, key: ApiKey) -> None:
        # Not `owner` and not `expires_at`: the one would list the key among the user's tasks, the
        # other would let TTL remove it, and an expired key must be told from an unknown one.
        item = {
            **_key(key.id),
            "secret": b(key.secret_sha256),
            "principal": s(str(key.owner)),
            "scopes": ss(key.scopes),
            "max_pending": n(key.max_pending),
        }
        if key.expires_at:
            item["valid_until"] = n(key.expires_at)
        if key.revoked:
            item["revoked"] = {"BOOL": True}
        with available():
            self._client.put_item(TableName=self._table, Item=item)


def _key(key_id: str) -> dict[str, Value]:
    return {"pk": s(f"KEY#{key_id}"), "sk": s("KEY")}
