"""One read and one put with a condition, for what operators keep: keys, plans, switches, bulk acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Item, Value, n

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def get(client: DynamoDBClient, table: str, key: dict[str, Value]) -> Item | None:
    """The record as it stands now: what was just issued or paused is minded at once."""
    with available():
        return client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")


def put(client: DynamoDBClient, table: str, item: dict[str, Value], **guard: Any) -> bool:
    """Whether `item` stands there now; `guard` is the condition in `PutItem`'s words."""
    try:
        with available():
            client.put_item(
                TableName=table, Item=item, ReturnValuesOnConditionCheckFailure="ALL_OLD", **guard
            )
    except ClientError as error:
        if code_of(error) != "ConditionalCheckFailedException":
            raise
        # Ours, when an earlier try of the SDK had won and only its answer was lost.
        return error.response.get("Item") == item
    return True


def put_version(client: DynamoDBClient, table: str, item: dict[str, Value], read: int) -> bool:
    """Put `item` if the record still has the version that was `read`; 0: there was none yet."""
    guard: dict[str, Any] = {
        "ConditionExpression": "attribute_not_exists(#version)",
        "ExpressionAttributeNames": {"#version": "version"},
    }
    if read:
        guard["ConditionExpression"] = "#version = :version"
        guard["ExpressionAttributeValues"] = {":version": n(read)}
    return put(client, table, item, **guard)
