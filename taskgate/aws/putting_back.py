"""Make a table what a restored copy of it is, in place: its name, stream, indexes and rights stay.

Point-in-time recovery restores to a table beside the old one, without its stream, its TTL and its
protection. Moving the items back needs none of these to be made again, nor any stack to be changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws.clients import available
from taskgate.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WRITES: Final = 25
READS: Final = 100
TRIES: Final = 8
TASKS: Final = ("TASK#", "LEDGER#", "IDEM#")
"""What tasks are made of. The rest is what operators set: a revoked key must not work again because a
task was lost, nor a pause end.
"""


@dataclass(frozen=True, slots=True)
class PutBack:
    """How many items were written as the copy has them, and how many went that it does not have."""

    written: int
    removed: int


def put_back(
    client: DynamoDBClient,
    copy: str,
    table: str,
    *,
    apply: bool,
    everything: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> PutBack:
    """Compare first, then write what differs: twice is once, and one that broke off is gone on with.

    Tasks, ledgers and idempotency keys only; with `everything` also keys, plans and switches.
    """
    moving = _Moving(client, copy, table, ("",) if everything else TASKS, sleep)
    written = moving.write(moving.differing(), apply=apply)
    return PutBack(written, moving.write(moving.surplus(), apply=apply))


class _Moving:
    def __init__(
        self,
        client: DynamoDBClient,
        copy: str,
        table: str,
        kinds: tuple[str, ...],
        sleep: Callable[[float], None],
    ) -> None:
        self._client, self._copy, self._table = client, copy, table
        self._kinds, self._sleep = kinds, sleep

    def differing(self) -> Iterator[Any]:
        """A put for each item of the copy that the table has not, or has otherwise."""
        for batch in _batches(self._items(self._copy), READS):
            there = self._beside(self._table, batch)
            for item in batch:
                if there.get(_key(item)) != item:
                    yield {"PutRequest": {"Item": item}}

    def surplus(self) -> Iterator[Any]:
        """A delete for each item of the table that the copy has not."""
        for batch in _batches(self._items(self._table), READS):
            there = self._beside(self._copy, batch)
            for item in batch:
                if _key(item) not in there:
                    yield {"DeleteRequest": {"Key": {"pk": item["pk"], "sk": item["sk"]}}}

    def write(self, requests: Iterator[Any], *, apply: bool) -> int:
        done = 0
        for batch in _batches(requests, WRITES):
            if apply:
                self._until_done(
                    lambda left: self._client.batch_write_item(RequestItems=left).get(
                        "UnprocessedItems", {}
                    ),
                    {self._table: batch},
                )
            done += len(batch)
        return done

    def _items(self, table: str) -> Iterator[Any]:
        where: dict[str, Any] = {}
        while True:
            with available():
                answer = self._client.scan(TableName=table, ConsistentRead=True, **where)
            yield from (i for i in answer["Items"] if i["pk"]["S"].startswith(self._kinds))
            if "LastEvaluatedKey" not in answer:
                return
            where = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _beside(self, table: str, items: Sequence[Any]) -> dict[tuple[str, str], Any]:
        """What the other table has under the keys of these."""
        found: dict[tuple[str, str], Any] = {}

        def read(left: Any) -> Any:
            answer = self._client.batch_get_item(RequestItems=left)
            found.update({_key(item): item for item in answer["Responses"].get(table, [])})
            return answer.get("UnprocessedKeys", {})

        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in items]
        self._until_done(read, {table: {"Keys": keys, "ConsistentRead": True}})
        return found

    def _until_done(self, act: Callable[[Any], Any], left: Any) -> None:
        for attempt in range(TRIES):
            with available():
                left = act(left)
            if not left:
                return
            self._sleep(0.05 * 2**attempt)
        raise Unavailable("The table kept refusing; run it again, it goes on where it was.")


def _key(item: Any) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _batches(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(rows, size)):
        yield batch
