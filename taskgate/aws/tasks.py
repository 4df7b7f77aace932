"""The records on DynamoDB: one guarded write per change, refusals that explain themselves."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws import expressions
from taskgate.aws.clients import available, code_of
from taskgate.aws.codec import decode, encode, id_of, input_key, part_key, task_key
from taskgate.aws.pulses import decode_pulse, pulse_key
from taskgate.aws.transactions import Cancelled, transact
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.errors import Refused, TooManyPendingTasks, Unavailable
from taskgate.lifecycle.change import Change
from taskgate.ports import Due, Ledger, Page, Problem, Pulse, Replay, Submission
from taskgate.task import Owner, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH_TRIES: Final = 5


class DynamoTasks:
    """The `TaskStore` on the tables `tasks` and `ephemeral`."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        tasks: str,
        ephemeral: str,
        clock_shards: int,
        now: Callable[[], int],
        ledger_shards: int = 1,
    ) -> None:
        self._client, self._tasks, self._ephemeral = client, tasks, ephemeral
        self._clock_shards, self._ledger_shards = clock_shards, ledger_shards
        self._now = now

    def create(self, submission: Submission) -> Replay | None:
        task = submission.task
        actions = [
            {"Put": self._new(encode(task, self._clock_shards))},
            {"Put": self._new({**input_key(task.id), "input": s(submission.input)})},
            {
                "Update": expressions.ledger_entry(
                    self._tasks, task.id, task.owner, submission.max_pending, self._ledger_shards
                )
            },
        ]
        if submission.then is not None:
            kept = {**part_key(task.id, "THEN"), "then": s(submission.then)}
            actions.append({"Put": self._new(kept)})
        if submission.idempotency:
            actions.append({"Put": self._idempotency(submission)})
        try:
            transact(self._client, actions)
        except Cancelled as cancelled:
            return self._not_created(submission, cancelled)
        return None

    def apply(self, change: Change) -> Task:
        update = expressions.task_update(self._tasks, change, self._clock_shards)
        if change.ledger is None and change.guard.pulse is None:
            return self._update(update, change)
        return self._transact(update, change)

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

    def get_input(self, task_id: str) -> str | None:
        item = self._item(input_key(task_id))
        return text_of(item, "input") if item else None

    def get_then(self, task_id: str) -> str | None:
        item = self._item(part_key(task_id, "THEN"))
        return text_of(item, "then") if item else None

    def callback_body(self, task_id: str, generation: int, body: str) -> str:
        key = part_key(task_id, f"CALLBACK#{generation}")
        try:
            with available():
                self._client.put_item(**self._new({**key, "body": s(body)}))
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return text_of(error.response["Item"], "body")  # type: ignore[typeddict-item]
        return body

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
        found = self._batch({self._tasks: [task_key(i) for i in ids]}) if ids else {}
        tasks = {t.id: t for t in map(decode, found.get(self._tasks, []))}
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
        keys = [expressions.ledger_key(owner, shard) for shard in range(self._ledger_shards)]
        return _add_up(self._batch({self._tasks: keys}).get(self._tasks, []))

    def _new(self, item: dict[str, Value]) -> dict[str, Any]:
        return {
            "TableName": self._tasks,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(#pk)",
            "ExpressionAttributeNames": {"#pk": "pk"},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _idempotency(self, submission: Submission) -> dict[str, Any]:
        key, task = submission.idempotency, submission.task
        assert key is not None  # noqa: S101 - the caller looked
        digest = hashlib.sha256(key.key.encode()).hexdigest()
        item = {
            "pk": s(f"IDEM#{task.owner}#{digest}"),
            "sk": s("IDEM"),
            "task": s(task.id),
            "fingerprint": s(key.fingerprint),
            "expires_at": n(key.expires_at),
        }
        # An expired record may linger for days: it counts as absent.
        return self._new(item) | {
            "ConditionExpression": "attribute_not_exists(#pk) OR #expires_at < :now",
            "ExpressionAttributeNames": {"#pk": "pk", "#expires_at": "expires_at"},
            "ExpressionAttributeValues": {":now": n(self._now() // 1000)},
        }

    def _not_created(self, submission: Submission, cancelled: Cancelled) -> Replay | None:
        task, failed = submission.task, cancelled.failed
        if 0 in failed and text_of(failed[0], "op_id") == task.op_id:
            return None  # our own first try had won, and its answer was lost
        replayed = next((item for item in failed.values() if "fingerprint" in item), None)
        if replayed is not None:
            return Replay(text_of(replayed, "task"), text_of(replayed, "fingerprint"))
        if 2 in failed:
            raise TooManyPendingTasks
        raise Refused(None, "The task id is taken.")

    def _update(self, update: dict[str, Any], change: Change) -> Task:
        try:
            with available():
                answer = self._client.update_item(**update, ReturnValues="ALL_NEW")
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return _ours_or_refused(error.response.get("Item", {}), change)  # type: ignore[arg-type]
        return decode(answer["Attributes"])

    def _transact(self, update: dict[str, Any], change: Change) -> Task:
        actions: list[dict[str, Any]] = [{"Update": update}]
        if change.ledger:
            move = expressions.ledger_move(
                self._tasks, change.task_id, change.ledger, self._ledger_shards
            )
            actions.append({"Update": move})
        if change.guard.pulse:
            check = expressions.pulse_check(self._ephemeral, change.task_id, change.guard.pulse)
            actions.append({"ConditionCheck": check})
        try:
            transact(self._client, actions)
        except Cancelled as cancelled:
            if 0 in cancelled.failed:
                return _ours_or_refused(cancelled.failed[0], change)
            raise Refused(self.get(change.task_id)) from cancelled
        assert change.after is not None  # noqa: S101 - only a claim lacks it, and it has no ledger
        return change.after

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


def _ours_or_refused(item: Item, change: Change) -> Task:
    if not item:
        raise Refused(None)
    current = decode(item)
    if current.op_id == change.stamp.op_id:
        return current  # the SDK's first try had won, and its answer was lost
    raise Refused(current)


def _due_start(name: str, start: str) -> dict[str, Value]:
    due_at, task_id = start.split(" ")
    return {"clock_shard": s(name), "due_at": n(int(due_at)), **task_key(task_id)}


def _problem_start(name: str, start: str) -> dict[str, Value]:
    ended_at, task_id = start.split(" ")
    return {"problem_day": s(name), "ended_at": n(int(ended_at)), **task_key(task_id)}


def _add_up(items: Iterable[Item]) -> Ledger:
    total = Ledger()
    for item in items:
        active = frozenset(item["active"]["SS"]) if "active" in item else frozenset()
        counts = {
            name: getattr(total, name) + int_of(item, name)
            for name in (
                "submitted", "succeeded", "failed", "timed_out", "canceled", "wait_ms", "run_ms"
            )
        }  # fmt: skip
        total = Ledger(active=total.active | active, **counts)
    return total
