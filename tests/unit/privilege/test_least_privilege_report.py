"""The report on rights sees what is missing and what is too much, so that its zeros mean something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.privilege.calls import Call, UnknownCall, calls_of
from tests.privilege.report import Held, hold
from tests.privilege.rights import KEYS, statements_of
from tests.privilege.roles import Role

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks"
LANE = "arn:aws:sqs:us-east-1:000000000000:gate-cpu-{}"


def allowed(action: Any, resource: Any, **condition: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, "Condition": condition}


def keyed(*patterns: str, operator: str = "StringLike") -> dict[str, Any]:
    return {f"ForAllValues:{operator}": {"dynamodb:LeadingKeys": list(patterns)}}


def held(statements: list[dict[str, Any]], *calls: Call) -> Held:
    rights = tuple(statements_of({"Statement": statements}))
    return hold(Role("room", "role", rights, frozenset()), calls)


def got(action: str, resource: str = TABLE, *keys: str) -> Call:
    return Call("role", action, resource, keys)


GET = allowed("dynamodb:GetItem", TABLE, **keyed("TASK#*", "LEDGER#*"))


def test_a_right_that_was_used_is_neither_unused_nor_missing() -> None:
    found = held(
        [GET],
        got("dynamodb:GetItem", TABLE, "TASK#1"),
        got("dynamodb:GetItem", TABLE, "LEDGER#a#b"),
    )
    assert len(found.used) == 3
    assert not found.unused
    assert not found.missing


def test_an_action_that_nobody_used_is_unused() -> None:
    found = held(
        [allowed(["dynamodb:GetItem", "dynamodb:DeleteItem"], TABLE)], got("dynamodb:GetItem")
    )
    assert found.unexplained == {"dynamodb:DeleteItem on table/tasks"}


def test_a_key_pattern_that_no_call_had_is_unused() -> None:
    found = held([GET], got("dynamodb:GetItem", TABLE, "TASK#1"))
    assert found.unexplained == {"dynamodb:LeadingKeys on LEDGER#*"}


def test_an_item_outside_the_keys_is_missing_and_so_is_another_table_or_action() -> None:
    calls = (
        got("dynamodb:GetItem", TABLE, "KEY#1"),
        got("dynamodb:GetItem", TABLE + "2", "TASK#1"),
        got("dynamodb:PutItem", TABLE, "TASK#1"),
    )
    assert len(held([GET], *calls).missing) == 3


def test_one_key_outside_in_a_batch_makes_the_whole_call_missing() -> None:
    assert held([GET], got("dynamodb:GetItem", TABLE, "TASK#1", "KEY#1")).missing


def test_a_query_of_a_partition_that_is_excluded_is_missing() -> None:
    index = f"{TABLE}/index/by_user"
    query = allowed("dynamodb:Query", index, **keyed("#*", operator="StringNotLike"))
    assert not held([query], got("dynamodb:Query", index, "acme#ada")).missing
    assert held([query], got("dynamodb:Query", index, "#keys")).missing


def test_lanes_count_as_one_but_a_queue_that_is_not_allowed_is_missing() -> None:
    send = allowed("sqs:SendMessage", [LANE.format("high"), LANE.format("low")])
    found = held([send], got("sqs:SendMessage", LANE.format("high")))
    assert not found.unused
    assert held([send], got("sqs:SendMessage", LANE.format("normal"))).missing


def test_another_roles_call_is_no_use_of_ours() -> None:
    other = Call("other", "dynamodb:GetItem", TABLE, ("TASK#1",))
    assert held([GET], other).used == frozenset()


def test_each_part_of_a_transaction_needs_the_right_of_its_kind() -> None:
    key = {"pk": {"S": "TASK#1"}, "sk": {"S": "TASK"}}
    parts = [
        {"Update": {"TableName": "tasks", "Key": key}},
        {"Put": {"TableName": "tasks", "Item": key}},
        {"ConditionCheck": {"TableName": "ephemeral", "Key": {"pk": {"S": "PULSE#1"}}}},
    ]
    line = _line("dynamodb", "TransactWriteItems", {"TransactItems": parts})
    assert [(call.action, call.keys) for call in calls_of(line)] == [
        ("dynamodb:UpdateItem", ("TASK#1",)),
        ("dynamodb:PutItem", ("TASK#1",)),
        ("dynamodb:ConditionCheckItem", ("PULSE#1",)),
    ]


def test_a_call_that_cannot_be_put_into_iams_words_stops_the_report() -> None:
    with pytest.raises(UnknownCall):
        list(calls_of(_line("dynamodb", "ExecuteStatement", {})))
    with pytest.raises(UnknownCall):
        list(calls_of(_line("kms", "Decrypt", {})))


def _line(service: str, operation: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "role",
        "service": service,
        "operation": operation,
        "path": "/",
        "body": json.dumps(body),
    }


OURS, FOREIGN = {"pk": {"S": "TASK#1"}, "sk": {"S": "TASK"}}, {"pk": {"S": "KEY#1"}}
EQUALS = {"KeyConditionExpression": "#k = :k", "ExpressionAttributeNames": {"#k": "pk"}}


@pytest.mark.parametrize(
    ("operation", "ours", "foreign"),
    [
        ("GetItem", {"Key": OURS}, {"Key": FOREIGN}),
        ("PutItem", {"Item": OURS}, {"Item": FOREIGN}),
        (
            "BatchGetItem",
            {"RequestItems": {"tasks": {"Keys": [OURS]}}},
            {"RequestItems": {"tasks": {"Keys": [OURS, FOREIGN]}}},
        ),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Update": {"TableName": "tasks", "Key": OURS}}]},
            {
                "TransactItems": [
                    {"Update": {"TableName": "tasks", "Key": OURS}},
                    {"Update": {"TableName": "tasks", "Key": FOREIGN}},
                ]
            },
        ),
        (
            "Query",
            {**EQUALS, "ExpressionAttributeValues": {":k": {"S": "TASK#1"}}},
            {**EQUALS, "ExpressionAttributeValues": {":k": {"S": "KEY#1"}}},
        ),
    ],
)
def test_a_recorded_request_for_a_foreign_item_is_missing_and_the_same_for_ours_is_not(
    operation: str, ours: dict[str, Any], foreign: dict[str, Any]
) -> None:
    every = [f"dynamodb:{name}" for name in ("BatchGetItem", "GetItem", "PutItem", "Query")]
    role = allowed([*every, "dynamodb:UpdateItem"], TABLE, **keyed("TASK#*"))
    for body, missing in ((ours, 0), (foreign, 1)):
        calls = calls_of(_line("dynamodb", operation, {"TableName": "tasks", **body}))
        assert len(held([role], *calls).missing) == missing


def test_a_condition_that_compares_otherwise_stops_the_report() -> None:
    for operator in ("ForAnyValue:StringLike", "ForAllValues:StringEquals", "StringLike"):
        with pytest.raises(ValueError, match="not understood"):
            held([allowed("dynamodb:GetItem", TABLE, **{operator: {KEYS[0]: ["TASK#*"]}})])
