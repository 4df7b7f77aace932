"""What is read of the records: one task, its pulse, lists, clocks and ledgers. Consistent but for lists."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws import expressions
from taskgate.aws.clients import available
from taskgate.aws.codec import decode, id_of, input_key, part_key, task_key
from taskgate.aws.pulses import decode_pulse, pulse_key
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.errors import Unavailable
from taskgate.ports import Due, Ledger, Page, Problem, Pulse, Replay
from taskgate.task import Owner, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH_TRIES: Final = 5


class DynamoReads:
    """The reading half of the `TaskStore`."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        tasks: str,
        ephemeral: str,
        clock_shards: int,
        now: Callable[[], int],
        input_days: int = 30,
    ) -> None:
        self._client, self._tasks, self._ephemeral = client, tasks, ephemeral
        self._clock_shards = clock_shards
        self._now, self._input_days = now, input_days

    def get(self, task_id: str) -> Task | None:
        item = self._item(task_key(task_id))
        return decode(item) if item else None

    def get_with_pulse(self, task_id: str) -> tuple[Task | None, Pulse | None]:
        found = self._batch(
            {self._tasks: [task_key(task_id)], self._ephemeral: [pulse_key(task_id)]}
        )
        tasks, pulses = found.get(self._tasks, []), found.get(self._ephemeral, [])
        return (
            decode(tasks[0]) if tasks else None,
            decode_pulse(pulses[0], self._now()) if pulses else None,
        )

    def get_many(self, task_ids: Sequence[str]) -> Mapping[str, Task]:
        keys = [task_key(task_id) for task_id in dict.fromkeys(task_ids)]
        found = self._batch({self._tasks: keys}) if keys else {}
        return {task.id: task for task in map(decode, found.get(self._tasks, []))}

    def find_replay(self, owner: Owner, key: str) -> Replay | None:
        item = self._item(expressions.idempotency_key(owner, key))
        # An expired record may linger for days: it counts as absent.
        if not item or int_of(item, "expires_at") < self._now() // 1000:
            return None
        return Replay(text_of(item, "task"), text_of(item, "fingerprint"))

    def get_input(self, task_id: str) -> str | None:
        item = self._item(input_key(task_id))
        return text_of(item, "input") if item else None

    def get_then(self, task_id: str) -> str | None:
        item = self._item(part_key(task_id, "THEN"))
        return text_of(item, "then") if item else None

    def list_by_owner(self, owner: Owner, limit: int, start: str | None = None) -> Page[Task]:
        start_key = {"owner": s(str(owner)), **task_key(start)} if start else None
        page = self._query(
            "by_user",
            "#k = :k",
            {"#k": "owner"},
            {":k": s(str(owner))},
            limit,
            start_key,
            forward=False,
        )
        ids = [id_of(item) for item in page["Items"]]
        tasks = self.get_many(ids)
        more = ids[-1] if ids and "LastEvaluatedKey" in page else None
        return Page([tasks[i] for i in ids if i in tasks], more)

    def due(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        return self._clocks(f"live#{shard:02d}", until, limit, start)

    def owed(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        return self._clocks(f"owed#{shard:02d}", until, limit, start)

    def _clocks(self, name: str, until: int, limit: int, start: str | None) -> Page[Due]:
        page = self._query(
            "by_clock",
            "#k = :k AND #d <= :d",
            {"#k": "clock_shard", "#d": "due_at"},
            {":k": s(name), ":d": n(until)},
            limit,
            _due_start(name, start) if start else None,
        )
        rows = [Due(id_of(item), int_of(item, "due_at")) for item in page["Items"]]
        more = f"{rows[-1].due_at} {rows[-1].task_id}" if "LastEvaluatedKey" in page else None
        return Page(rows, more)

    def problems(self, day: str, shard: int, limit: int, start: str | None = None) -> Page[Problem]:
        name = f"{day}#{shard}"
        page = self._query(
            "by_problem",
            "#k = :k",
            {"#k": "problem_day"},
            {":k": s(name)},
            limit,
            _problem_start(name, start) if start else None,
            forward=False,
        )
        rows = [Problem(id_of(item), int_of(item, "ended_at")) for item in page["Items"]]
        more = f"{rows[-1].ended_at} {rows[-1].task_id}" if "LastEvaluatedKey" in page else None
        return Page(rows, more)

    def ledger(self, owner: Owner) -> Ledger:
        return _add_up(self._books(owner))

    def pending(self, owner: Owner) -> Mapping[int, int]:
        return {int(book["sk"]["S"]): len(_active(book)) for book in self._books(owner)}

    def _books(self, owner: Owner) -> Iterator[Item]:
        """Every shard of the ledger that was ever used, however many the plan has now: 1 call a MB."""
        asked: Any = {
            "TableName": self._tasks,
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": "pk"},
            "ExpressionAttributeValues": {":pk": expressions.ledger_key(owner, 0)["pk"]},
            "ConsistentRead": True,
        }
        while True:
            with available():
                page = self._client.query(**asked)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _item(self, key: dict[str, Value]) -> Item | None:
        with available():
            answer = self._client.get_item(TableName=self._tasks, Key=key, ConsistentRead=True)
        return answer.get("Item")

    def _query(
        self,
        index: str,
        condition: str,
        names: dict[str, str],
        values: dict[str, Value],
        limit: int,
        start: dict[str, Value] | None,
        *,
        forward: bool = True,
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {"ExclusiveStartKey": start} if start else {}
        with available():
            return dict(
                self._client.query(
                    TableName=self._tasks,
                    IndexName=index,
                    KeyConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues=values,
                    Limit=limit,
                    ScanIndexForward=forward,
                    **arguments,
                )
            )

    def _batch(self, keys: dict[str, Sequence[Any]]) -> dict[str, list[Item]]:
        """Consistent reads over both tables; asks again for what a busy table left out."""
        wanted: Any = {t: {"Keys": list(k), "ConsistentRead": True} for t, k in keys.items() if k}
        found: dict[str, list[Item]] = {}
        for attempt in range(BATCH_TRIES):
            if attempt:
                time.sleep(0.05 * 2**attempt)
            with available():
                answer = self._client.batch_get_item(RequestItems=wanted)
            for table, items in answer.get("Responses", {}).items():
                found.setdefault(table, []).extend(items)
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return found
        raise Unavailable("The table left reads undone.")


def _due_start(name: str, start: str) -> dict[str, Value]:
    due_at, task_id = start.split(" ")
    return {"clock_shard": s(name), "due_at": n(int(due_at)), **task_key(task_id)}


def _problem_start(name: str, start: str) -> dict[str, Value]:
    ended_at, task_id = start.split(" ")
    return {"problem_day": s(name), "ended_at": n(int(ended_at)), **task_key(task_id)}


def _active(book: Item) -> frozenset[str]:
    # An emptied set vanishes.
    return frozenset(book["active"]["SS"]) if "active" in book else frozenset()


def _add_up(items: Iterable[Item]) -> Ledger:
    total = Ledger()
    for item in items:
        counts = {
            name: getattr(total, name) + int_of(item, name)
            for name in (
                "submitted", "succeeded", "failed", "timed_out", "canceled", "wait_ms", "run_ms"
            )
        }  # fmt: skip
        total = Ledger(active=total.active | _active(item), **counts)
    return total
