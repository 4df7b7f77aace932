"""The receivers' records on the `ephemeral` table: one item each, its line beside its health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.pages import Page
from taskgate.receivers import Health, Unwell

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 24 * 3600
PREFIX: Final = "RECEIVER#"


class DynamoReceivers:
    """The `Receivers` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def get(self, receiver: str) -> Health:
        # Eventually consistent: a moment's old health costs at most an attempt, and half as much.
        with available():
            answer = self._client.get_item(TableName=self._table, Key=_key(receiver))
        return self._decode(answer.get("Item", {}))

    def swap(self, receiver: str, seen: Health, new: Health) -> Health | None:
        """A write whose answer was lost counts as not done: nothing here needs to happen once."""
        condition = "#version = :seen" if seen.version else "attribute_not_exists(#version)"
        values = {
            "failures": n(new.failures),
            "opened_at": n(new.opened_at or 0),
            "next_probe_at": n(new.next_probe_at),
            "version": n(seen.version + 1),
        }
        seen_values = {":seen": n(seen.version)} if seen.version else {}
        written = self._update(receiver, values, condition, seen_values)
        return None if written is None else self._decode(written)

    def unwell(
        self, limit: int, start: str | None = None, tenant: str | None = None
    ) -> Page[Unwell]:
        """One Scan, of a megabyte at most. An index would cost a write at each turn of a breaker,
        on the way of every callback, for a list that somebody looks at a few times a month.
        """
        where: Any = {"ExclusiveStartKey": {"pk": s(start)}} if start else {}
        with available():
            answer = self._client.scan(
                TableName=self._table,
                FilterExpression="begins_with(#pk, :receiver) AND #failures > :none",
                ExpressionAttributeNames={"#pk": "pk", "#failures": "failures"},
                ExpressionAttributeValues={
                    ":receiver": s(PREFIX + (f"{tenant}|" if tenant else "")),
                    ":none": n(0),
                },
                **where,
            )
        items = answer["Items"]
        # A table of one key: a page may end behind any row of it.
        after: Item | None = (
            items[limit - 1] if len(items) > limit else answer.get("LastEvaluatedKey")
        )
        found = [self._unwell(item) for item in items[:limit]]
        return Page(
            [r for r in found if r.health.failures], text_of(after, "pk") if after else None
        )

    def _unwell(self, item: Item) -> Unwell:
        receiver = text_of(item, "pk").removeprefix(PREFIX)
        return Unwell(receiver=receiver, health=self._decode(item))

    def line_up(self, receiver: str, not_before: int, interval_ms: int) -> int:
        slot = self._join(receiver, not_before, interval_ms)
        if slot is None:
            slot = self._start_line(receiver, not_before, interval_ms)
        if slot is None:
            # Lost to another's start: there is a line now.
            slot = self._join(receiver, not_before, interval_ms)
        return not_before + interval_ms if slot is None else slot

    def _join(self, receiver: str, not_before: int, interval_ms: int) -> int | None:
        """The free slot of a line that reaches past `not_before`."""
        condition, base = "#line_at > :base", {":base": n(not_before), ":step": n(interval_ms)}
        item = self._update(receiver, {}, condition, base, "#line_at = #line_at + :step")
        return None if item is None else int_of(item, "line_at") - interval_ms

    def _start_line(self, receiver: str, not_before: int, interval_ms: int) -> int | None:
        condition = "attribute_not_exists(#line_at) OR #line_at <= :base"
        base = {":base": n(not_before)}
        values = {"line_at": n(not_before + interval_ms)}
        return None if self._update(receiver, values, condition, base) is None else not_before

    def _update(
        self,
        receiver: str,
        values: Mapping[str, Value],
        condition: str,
        compared: Mapping[str, Value],
        step: str = "",
    ) -> Item | None:
        """The item after the update, or None when the condition did not hold."""
        values = {**values, "expires_at": n(self._now() // 1000 + KEPT_SECONDS)}
        named = {*values} | {name for name in ("version", "line_at") if f"#{name}" in condition}
        sets = [f"#{name} = :{name}" for name in values] + ([step] if step else [])
        try:
            with available():
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=_key(receiver),
                    UpdateExpression="SET " + ", ".join(sets),
                    ConditionExpression=condition,
                    ExpressionAttributeNames={f"#{name}": name for name in named},
                    ExpressionAttributeValues={
                        **{f":{name}": value for name, value in values.items()},
                        **compared,
                    },
                    ReturnValues="ALL_NEW",
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return None
        return answer["Attributes"]

    def _decode(self, item: Item) -> Health:
        version = int_of(item, "version")
        if int_of(item, "expires_at") * 1000 <= self._now():
            # TTL is housekeeping: what is past its time counts as gone, whether it is or not.
            return Health(version=version)
        return Health(
            failures=int_of(item, "failures"),
            opened_at=int_of(item, "opened_at") or None,
            next_probe_at=int_of(item, "next_probe_at"),
            version=version,
            line_at=int_of(item, "line_at"),
        )


def _key(receiver: str) -> dict[str, Value]:
    return {"pk": s(PREFIX + receiver)}
