"""The plans on the `tasks` table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from taskgate.aws import guarded
from taskgate.aws.clients import available
from taskgate.aws.trails import trail, trail_of
from taskgate.aws.values import Item, Value, int_of, n, s, ss, text_of
from taskgate.plans import Plan

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LISTED: Final = "#plans"
"""All plans stand under this owner in the index `by_user`, as the keys under theirs."""
MOST: Final = 100


class DynamoPlans:
    """The `PlanStore` port."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def get_plan(self, name: str) -> Plan | None:
        item = guarded.get(self._client, self._table, _key(name))
        return _decode(item) if item else None

    def write_plan(self, plan: Plan) -> bool:
        return guarded.put_version(self._client, self._table, _encode(plan), plan.version)

    def list_plans(self) -> Sequence[Plan]:
        with available():
            page = self._client.query(
                TableName=self._table,
                IndexName="by_user",
                KeyConditionExpression="#owner = :owner",
                ExpressionAttributeNames={"#owner": "owner"},
                ExpressionAttributeValues={":owner": s(LISTED)},
                Limit=MOST,
            )
        plans = [self.get_plan(_name(item)) for item in page["Items"]]
        return [plan for plan in plans if plan]


def _encode(plan: Plan) -> dict[str, Value]:
    numbers = {
        "max_pending": plan.max_pending,
        "submits_per_minute": plan.submits_per_minute,
        "burst": plan.burst,
        "max_processing": plan.max_processing,
        "max_upload_bytes": plan.max_upload_bytes,
        "ledger_shards": plan.ledger_shards,
        "version": plan.version + 1,
    }
    return {
        **_key(plan.name),
        "owner": s(LISTED),
        "priorities": ss(plan.priorities),
        "trail": trail(plan.trail),
        **{name: n(value) for name, value in numbers.items() if value is not None},
    }


def _decode(item: Item) -> Plan:
    return Plan(
        name=_name(item),
        max_pending=int_of(item, "max_pending"),
        submits_per_minute=int_of(item, "submits_per_minute") or None,
        burst=int_of(item, "burst"),
        priorities=frozenset(item["priorities"]["SS"]),
        max_processing=int_of(item, "max_processing") or None,
        max_upload_bytes=int_of(item, "max_upload_bytes") or None,
        ledger_shards=int_of(item, "ledger_shards") or 1,
        version=int_of(item, "version"),
        trail=trail_of(item),
    )


def _name(item: Item) -> str:
    return text_of(item, "pk").removeprefix("PLAN#")


def _key(name: str) -> dict[str, Value]:
    return {"pk": s(f"PLAN#{name}"), "sk": s("PLAN")}
