"""The audit on DynamoDB: a paced scan, snapshots by transaction, and guarded repairs of books.

A scan reads the inputs too, since they share the table; hence the pace. It is the base table that is
read, not an index: an index cannot show what was lost from it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.codec import decode, encode, task_key
from taskgate.aws.expressions import Names, ledger_key
from taskgate.aws.values import Item, int_of, n, s
from taskgate.books import Book, Record, Row, Tasks, Unreadable
from taskgate.errors import Unavailable
from taskgate.ports import Ledger, Page
from taskgate.task import Owner, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PAGE: Final = 200
TRIES: Final = 5
COUNTS: Final = (
    "submitted", "succeeded", "failed", "timed_out", "canceled", "wait_ms", "run_ms"
)  # fmt: skip
UNREADABLE: Final = (KeyError, ValueError, TypeError, IndexError)
INDEXED: Final = ("clock_shard", "problem_day")


class DynamoAudit:
    """The `Audit` on the tasks table. `pace` is read units a second; 0 knows no bound."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        table: str,
        clock_shards: int,
        pace: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._table = client, table
        self._clock_shards = clock_shards
        self._pace, self._sleep = pace, sleep

    def rows(self, segment: int, segments: int, start: str | None = None) -> Page[Row]:
        arguments: dict[str, Any] = {"ExclusiveStartKey": json.loads(start)} if start else {}
        with available():
            answer = self._client.scan(
                TableName=self._table,
                Segment=segment,
                TotalSegments=segments,
                ConsistentRead=True,
                Limit=PAGE,
                FilterExpression="#sk = :task OR begins_with(#pk, :ledger)",
                ExpressionAttributeNames={"#pk": "pk", "#sk": "sk"},
                ExpressionAttributeValues={":task": s("TASK"), ":ledger": s("LEDGER#")},
                ReturnConsumedCapacity="TOTAL",
                **arguments,
            )
        self._slow_down(float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)))
        last = answer.get("LastEvaluatedKey")
        return Page([self._row(i) for i in answer["Items"]], json.dumps(last) if last else None)

    def record(self, task_id: str) -> Record | None:
        with available():
            answer = self._client.get_item(
                TableName=self._table, Key=task_key(task_id), ConsistentRead=True
            )
        item = answer.get("Item")
        return self._record(item) if item else None

    def snapshot(self, owner: Owner, shard: int, ids: Sequence[str]) -> tuple[Book, Tasks]:
        items = self._as_of_one_moment([ledger_key(owner, shard), *map(task_key, ids)])
        book = Book(owner, shard, _ledger(items[0]))
        return book, {i: _readable(item) for i, item in zip(ids, items[1:], strict=True) if item}

    def mend_book(self, book: Book, ledger: Ledger) -> bool:
        names = Names()
        condition = " AND ".join(
            [_same_set(names, book.ledger), *(_same(names, c, book.ledger) for c in COUNTS)]
        )
        sets = [f"{names.name(c)} = {names.value(n(getattr(ledger, c)))}" for c in COUNTS]
        update = _new_set(names, ledger)
        try:
            with available():
                self._client.update_item(
                    TableName=self._table,
                    Key=ledger_key(book.owner, book.shard),
                    UpdateExpression=f"SET {', '.join([*sets, *update[0]])}{update[1]}",
                    ConditionExpression=condition,
                    **names.arguments(),
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def _row(self, item: Item) -> Row:
        key = str(item["pk"]["S"])
        try:
            if key.startswith("LEDGER#"):
                owner = Owner.parse(key.removeprefix("LEDGER#"))
                return Book(owner, int(item["sk"]["S"]), _ledger(item))
            return self._record(item)
        except UNREADABLE as error:
            return Unreadable(key, f"{type(error).__name__}: {error}"[:200])

    def _record(self, item: Item) -> Record:
        task = decode(item)
        implied = encode(task, self._clock_shards)
        return Record(task, all(item.get(name) == implied.get(name) for name in INDEXED))

    def _as_of_one_moment(self, keys: Sequence[Mapping[str, Any]]) -> list[Item]:
        """One transaction reads all of them, so a move between two of them cannot be seen half."""
        gets: Any = [{"Get": {"TableName": self._table, "Key": key}} for key in keys]
        for attempt in range(TRIES):
            try:
                with available():
                    answer = self._client.transact_get_items(TransactItems=gets)
            except ClientError as error:
                if code_of(error) != "TransactionCanceledException":
                    raise
                self._sleep(0.05 * 2**attempt)
            else:
                return [r.get("Item", {}) for r in answer["Responses"]]
        raise Unavailable("The snapshot kept meeting writers.")

    def _slow_down(self, units: float) -> None:
        if self._pace:
            self._sleep(units / self._pace)


def _readable(item: Item) -> Task | None:
    try:
        return decode(item)
    except UNREADABLE:
        return None


def _ledger(item: Item) -> Ledger:
    active = frozenset(item["active"]["SS"]) if "active" in item else frozenset()
    return Ledger(active=active, **{name: int_of(item, name) for name in COUNTS})


def _same(names: Names, count: str, ledger: Ledger) -> str:
    name, value = names.name(count), getattr(ledger, count)
    # ADD makes a counter on its first use: none and 0 are the same.
    absent = f"attribute_not_exists({name}) OR " if value == 0 else ""
    return f"({absent}{name} = {names.value(n(value))})"


def _same_set(names: Names, ledger: Ledger) -> str:
    name = names.name("active")
    if not ledger.active:
        return f"attribute_not_exists({name})"
    return f"{name} = {names.value({'SS': sorted(ledger.active)})}"


def _new_set(names: Names, ledger: Ledger) -> tuple[list[str], str]:
    """What to set, and what to remove: an empty set cannot be stored."""
    name = names.name("active")
    if not ledger.active:
        return [], f" REMOVE {name}"
    return [f"{name} = {names.value({'SS': sorted(ledger.active)})}"], ""
