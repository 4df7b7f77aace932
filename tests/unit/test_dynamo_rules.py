"""The rules that DynamoDB has and emulators lack are really looked at (B68, B78, B79)."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from moto import mock_aws

from taskgate.testing.dynamo_rules import MOST_KEYS, RuleBroken, broken


def _update(**changed: Any) -> dict[str, Any]:
    return {
        "TableName": "t",
        "Key": {"pk": {"S": "TASK#1"}, "sk": {"S": "TASK"}},
        "UpdateExpression": "SET #a = :a, #b = if_not_exists(#b, :a)",
        "ConditionExpression": "attribute_not_exists(#a) OR #a BETWEEN :a AND :a",
        "ExpressionAttributeNames": {"#a": "clock_shard", "#b": "b"},
        "ExpressionAttributeValues": {":a": {"S": "live#01"}},
        **changed,
    }


def _put(**item: Any) -> dict[str, Any]:
    return {"TableName": "t", "Item": {"pk": {"S": "p"}, **item}}


def _transaction(*actions: Any) -> dict[str, Any]:
    return {"TransactItems": list(actions)}


GOOD = (
    _update(),
    _put(expires_at={"N": "1790000000"}),
    _transaction({"Update": _update()}, {"Put": _put()}),
)
BAD = {
    "a bare reserved word": _update(ConditionExpression="status = :a AND #a = :a AND #b = :a"),
    "a bare word in a path": _update(ConditionExpression="#a.ttl = :a AND #b = :a"),
    "a name that is not used": _update(ExpressionAttributeNames={"#a": "a", "#b": "b", "#c": "c"}),
    "an alias that means nothing": _update(ExpressionAttributeNames={"#a": "a"}),
    "an index key set to nothing": _update(ExpressionAttributeValues={":a": {"S": ""}}),
    "an index key of null": _put(owner={"NULL": True}),
    "an empty key": _put(pk={"S": ""}),
    "a cursor's empty key": {"ExclusiveStartKey": {"owner": {"S": ""}}},
    "an empty set": _put(active={"SS": []}),
    "a set emptied by an update": _update(ExpressionAttributeValues={":a": {"SS": []}}),
    "a TTL in milliseconds": _put(expires_at={"N": "1790000000000"}),
    "a TTL with a fraction": _put(expires_at={"N": "1790000000.5"}),
    "a TTL that is a text": _put(expires_at={"S": "1790000000"}),
    "two actions on one item": _transaction({"Update": _update()}, {"Delete": _update()}),
    "a transaction of 101": _transaction(
        *({"Put": _put(pk={"S": str(n)})} for n in range(MOST_KEYS + 1))
    ),
    "a batch of 101": {"RequestItems": {"t": {"Keys": [{"pk": {"S": "x"}}] * (MOST_KEYS + 1)}}},
}


@pytest.mark.parametrize("request_", GOOD)
def test_what_dynamodb_takes_breaks_no_rule(request_: Any) -> None:
    assert list(broken(request_)) == []


@pytest.mark.parametrize("name", BAD)
def test_what_dynamodb_refuses_breaks_a_rule(name: str) -> None:
    assert list(broken(BAD[name]))


def test_every_request_of_every_test_is_looked_at_before_it_is_sent() -> None:
    with mock_aws():
        client = boto3.client("dynamodb")
        with pytest.raises(RuleBroken, match="status is not aliased"):
            client.get_item(TableName="t", Key={"pk": {"S": "x"}}, ProjectionExpression="status")
        client.close()
