"""The records on DynamoDB: one guarded write per change, refusals that explain themselves."""

from __future__ import annotations

from typing import Any, Final

from botocore.exceptions import ClientError

from taskgate.aws import expressions, salvages
from taskgate.aws.clients import available, code_of
from taskgate.aws.codec import decode, encode, part_key
from taskgate.aws.reads import DynamoReads
from taskgate.aws.transactions import Cancelled, transact
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.lifecycle.change import Change, LedgerMove
from taskgate.ports import Replay, Submission
from taskgate.salvage import Salvage
from taskgate.task import Task

BATCH_TRIES: Final = 5


class DynamoTasks(DynamoReads):
    """The `TaskStore` on the tables `tasks` and `ephemeral`."""

    def create(self, submission: Submission) -> Replay | Salvage | None:
        reuse = submission.reuse
        # The mark stands in the one shard in which the canceled task is booked.
        look = reuse is not None and (reuse.likely or submission.ledger_shards > 1)
        return self._create(submission, look=look)

    def _create(self, submission: Submission, *, look: bool) -> Replay | Salvage | None:
        """`look` for a kept result itself; else the ledger's mark says whether that is worth it."""
        try:
            transact(self._client, self._actions(submission, look=look))
        except Cancelled as cancelled:
            if self._marked(submission, cancelled, look=look):
                return self._create(submission, look=True)
            return self._not_created(submission, cancelled)
        return None

    def _actions(self, submission: Submission, *, look: bool) -> list[dict[str, Any]]:
        task, reuse, now = submission.task, submission.reuse, self._now() // 1000
        actions = [
            {"Put": self._new(encode(task, self._clock_shards))},
            {"Put": self._new(self._beside(task, "INPUT", {"input": s(submission.input)}))},
            {"Update": self._booked(submission, look=look)},
        ]
        if submission.then is not None:
            kept = self._beside(task, "THEN", {"then": s(submission.then)})
            actions.append({"Put": self._new(kept)})
        if submission.idempotency:
            actions.append({"Put": self._idempotency(submission)})
        if reuse and look:
            check = salvages.absent(self._ephemeral, task.owner, reuse, now)
            actions.append({"ConditionCheck": check})
        if submission.takes:
            actions.append(salvages.take(self._ephemeral, submission.takes, now))
        return actions

    def _booked(self, submission: Submission, *, look: bool) -> dict[str, Any]:
        task = submission.task
        if task.state.ended:
            return expressions.ledger_ended(self._tasks, task)
        asks = submission.reuse is not None and not look
        unmarked_at = self._now() // 1000 if asks else None
        return expressions.ledger_entry(self._tasks, task, submission.room, unmarked_at)

    def _marked(self, submission: Submission, cancelled: Cancelled, *, look: bool) -> bool:
        """Whether the ledger refused because its user has something kept: then it is worth a look."""
        if look or submission.reuse is None or set(cancelled.failed) != {2}:
            return False
        return int_of(cancelled.failed[2], expressions.MARK) > self._now() // 1000

    def apply(self, change: Change) -> Task:
        update = expressions.task_update(self._tasks, change, self._clock_shards)
        if change.ledger is None and change.guard.pulse is None:
            return self._update(update, change)
        return self._transact(update, change)

    def keep_input(self, task: Task, deadline_at: int) -> bool:
        parts = ["INPUT", *(["THEN"] if task.follow_ups else [])]
        return all(self._prolonged(part_key(task.id, part), deadline_at) for part in parts)

    def _prolonged(self, key: dict[str, Value], deadline_at: int) -> bool:
        try:
            with available():
                self._client.update_item(
                    TableName=self._tasks,
                    Key=key,
                    UpdateExpression="SET #expires_at = :gone",
                    ConditionExpression="attribute_exists(#pk)",
                    ExpressionAttributeNames={"#pk": "pk", "#expires_at": "expires_at"},
                    ExpressionAttributeValues={":gone": n(self._gone(deadline_at))},
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def callback_body(self, task_id: str, generation: int, body: str) -> str:
        key = part_key(task_id, f"CALLBACK#{generation}")
        try:
            with available():
                gone = self._now() // 1000 + self._input_days * 24 * 3600
                item = {**key, "body": s(body), "expires_at": n(gone)}
                self._client.put_item(**self._new(item))
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return text_of(error.response["Item"], "body")  # type: ignore[typeddict-item]
        return body

    def _beside(self, task: Task, part: str, values: dict[str, Value]) -> dict[str, Value]:
        """An item that serves the task's run, and goes some time after it must have ended."""
        gone = self._gone(task.deadline_at)
        return {**part_key(task.id, part), **values, "expires_at": n(gone)}

    def _gone(self, deadline_at: int) -> int:
        return deadline_at // 1000 + self._input_days * 24 * 3600

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
        item = {
            **expressions.idempotency_key(task.owner, key.key),
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

    def _not_created(self, submission: Submission, cancelled: Cancelled) -> Replay | Salvage | None:
        task, failed = submission.task, cancelled.failed
        if 0 in failed and text_of(failed[0], "op_id") == task.op_id:
            return None  # our own first try had won, and its answer was lost
        replayed = next((item for item in failed.values() if "fingerprint" in item), None)
        if replayed is not None:
            return Replay(text_of(replayed, "task"), text_of(replayed, "fingerprint"))
        kept = next(filter(salvages.is_salvage, failed.values()), None)
        if kept is not None:
            return salvages.decode_salvage(kept, task.owner)
        if 2 in failed:
            raise TooManyPendingTasks
        if submission.takes and 0 not in failed:
            raise Refused(None, "The kept result is gone.")
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

    def _moved(self, change: Change, move: LedgerMove) -> dict[str, Any]:
        kept = change.salvage
        until = kept.expires_at if kept and kept.once else None
        return expressions.ledger_move(self._tasks, change.task_id, move, until)

    def _transact(self, update: dict[str, Any], change: Change) -> Task:
        actions: list[dict[str, Any]] = [{"Update": update}]
        if change.ledger:
            actions.append({"Update": self._moved(change, change.ledger)})
        if change.salvage:
            actions.append({"Update": salvages.keep(self._ephemeral, change.salvage)})
        if change.guard.pulse:
            check = expressions.pulse_check(self._ephemeral, change.task_id, change.guard.pulse)
            actions.append({"ConditionCheck": check})
        try:
            transact(self._client, actions)
        except Cancelled as cancelled:
            if 0 in cancelled.failed:
                return _ours_or_refused(cancelled.failed[0], change)
            if 1 in cancelled.failed and change.ledger and change.ledger.room is not None:
                raise TooManyPendingTasks from cancelled
            raise Refused(self.get(change.task_id)) from cancelled
        assert change.after is not None  # noqa: S101 - only a claim lacks it, and it has no ledger
        return change.after


def _ours_or_refused(item: Item, change: Change) -> Task:
    if not item:
        raise Refused(None)
    current = decode(item)
    if current.op_id == change.stamp.op_id:
        return current  # the SDK's first try had won, and its answer was lost
    raise Refused(current)
