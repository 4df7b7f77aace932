"""The slots on the `ephemeral` table: one item a key, one entry a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.expressions import Names
from taskgate.aws.values import Item, Value, n, s
from taskgate.slots import Slot

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 2 * 86_400
"""Longer than any run: an item that nobody has written for so long holds nobody who runs."""
MAX_TRIES: Final = 3


class DynamoSlots:
    """The `Slots` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def take(self, key: str, task_id: str, slot: Slot, most: int) -> Mapping[str, Slot] | None:
        for _ in range(MAX_TRIES):
            done, item = self._enter(key, task_id, slot, most)
            if done:
                return None
            if "held" in item:
                return _decode(item)
            if self._begin(key, task_id, slot):
                return None
        return {}

    def free(self, key: str, held: Mapping[str, Slot]) -> bool:
        names = Names()
        paths = {task_id: f"{names.name('held')}.{_entry(names, task_id)}" for task_id in held}
        conditions = [f"{paths[i]} = {names.value(_value(slot))}" for i, slot in held.items()]
        done, _ = self._update(
            key, "REMOVE " + ", ".join(paths.values()), " AND ".join(conditions), names
        )
        return done

    def _enter(self, key: str, task_id: str, slot: Slot, most: int) -> tuple[bool, Item]:
        names = Names()
        held, entry = names.name("held"), _entry(names, task_id)
        update = f"SET {held}.{entry} = {names.value(_value(slot))}, {self._expiry(names)}"
        condition = (
            f"attribute_exists({held}) AND"
            f" (attribute_exists({held}.{entry}) OR size({held}) < {names.value(n(most))})"
        )
        return self._update(key, update, condition, names)

    def _begin(self, key: str, task_id: str, slot: Slot) -> bool:
        """The first slot of a key makes the item."""
        names = Names()
        held = names.name("held")
        first = names.value({"M": {task_id: _value(slot)}})
        update = f"SET {held} = {first}, {self._expiry(names)}"
        done, _ = self._update(key, update, f"attribute_not_exists({held})", names)
        return done

    def _expiry(self, names: Names) -> str:
        expires_at = names.value(n(self._now() // 1000 + KEPT_SECONDS))
        return f"{names.name('expires_at')} = {expires_at}"

    def _update(self, key: str, update: str, condition: str, names: Names) -> tuple[bool, Item]:
        """Whether it was done, and what is there when it was not."""
        try:
            with available():
                self._client.update_item(
                    TableName=self._table,
                    Key={"pk": s(key)},
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **names.arguments(),
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            item: Any = error.response.get("Item", {})
            return False, item
        return True, {}


def _entry(names: Names, task_id: str) -> str:
    """The alias of one task's entry."""
    return names.name(task_id)


def _value(slot: Slot) -> Value:
    return s(f"{slot.attempt} {slot.at}")


def _decode(item: Item) -> Mapping[str, Slot]:
    entries = {i: str(value["S"]).split(" ")[:2] for i, value in item["held"]["M"].items()}
    return {i: Slot(int(attempt), int(at)) for i, (attempt, at) in entries.items()}
