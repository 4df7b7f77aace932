"""The pulses on DynamoDB's `ephemeral` table. TTL is housekeeping: every reader tests the expiry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.values import Item, Value, int_of, n, ratio, s, text_of
from taskgate.errors import LeaseLost
from taskgate.ports import Pulse, Seen, Signal
from taskgate.pulses import MAX_STAGE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 24 * 3600


def pulse_key(task_id: str) -> dict[str, Value]:
    return {"pk": s(f"PULSE#{task_id}")}


def decode_pulse(item: Item, now: int) -> Pulse | None:
    """The pulse of an item, or None when it is past its expiry (`now` in epoch ms)."""
    if int_of(item, "expires_at") * 1000 <= now:
        return None
    attempt = int_of(item, "attempt")
    kind, _, told = text_of(item, "signal").partition("|")
    return Pulse(
        task_id=text_of(item, "pk").removeprefix("PULSE#"),
        attempt=attempt,
        worker=text_of(item, "worker"),
        beat_at=int_of(item, "beat_at"),
        progress=float(item["progress"]["N"]) if "progress" in item else 0.0,
        stage=text_of(item, "stage"),
        signal=Signal(kind, int(told)) if kind else None,
        seen=_seen(text_of(item, "seen")),
    )


def _text(signal: Signal) -> Value:
    return s(f"{signal.kind}|{signal.attempt}")


def _seen(text: str) -> Seen | None:
    kind, _, rest = text.partition("|")
    attempt, _, at = rest.partition("|")
    return Seen(kind, int(attempt), int(at)) if kind else None


class DynamoPulses:
    """The `Pulses` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def beat(self, pulse: Pulse) -> Pulse:
        """One update. Progress that would fall costs a second one, which leaves it as it is."""
        try:
            item = self._beat(pulse, _NEWER, progress=True)
        except _Behind as behind:
            if behind.attempt != pulse.attempt:
                raise LeaseLost(None) from None
            item = self._beat_only(pulse)
        found = decode_pulse(item, self._now())
        if found is None:
            raise LeaseLost(None)
        return found

    def signal(self, task_id: str, signal: Signal) -> None:
        stronger = {f":stronger{i}": _text(told) for i, told in enumerate(signal.stronger)}
        condition = "(attribute_not_exists(#pk) OR #attempt <= :attempt)"
        if stronger:
            condition += f" AND NOT #signal IN ({', '.join(stronger)})"
        try:
            with available():
                self._client.update_item(
                    TableName=self._table,
                    Key=pulse_key(task_id),
                    UpdateExpression="SET #signal = :signal, #attempt = :attempt, #expires = :expires",
                    ConditionExpression=condition,
                    ExpressionAttributeNames={
                        "#pk": "pk",
                        "#signal": "signal",
                        "#attempt": "attempt",
                        "#expires": "expires_at",
                    },
                    ExpressionAttributeValues={
                        **stronger,
                        ":signal": _text(signal),
                        ":attempt": n(signal.attempt),
                        ":expires": n(self._expiry()),
                    },
                )
        except ClientError as error:
            # A newer attempt beats already, or the worker was told more: the word is for nobody.
            if code_of(error) != "ConditionalCheckFailedException":
                raise

    def acknowledge(self, task_id: str, seen: Seen) -> None:
        known = f"{seen.kind}|{seen.attempt}|"
        try:
            with available():
                self._client.update_item(
                    TableName=self._table,
                    Key=pulse_key(task_id),
                    UpdateExpression="SET #seen = :seen",
                    ConditionExpression="#attempt = :attempt AND"
                    " (attribute_not_exists(#seen) OR NOT begins_with(#seen, :known))",
                    ExpressionAttributeNames={"#seen": "seen", "#attempt": "attempt"},
                    ExpressionAttributeValues={
                        ":seen": s(f"{known}{seen.at}"),
                        ":attempt": n(seen.attempt),
                        ":known": s(known),
                    },
                )
        except ClientError as error:
            # Known already, or a newer attempt beats.
            if code_of(error) != "ConditionalCheckFailedException":
                raise

    def get(self, task_id: str) -> Pulse | None:
        with available():
            answer = self._client.get_item(
                TableName=self._table, Key=pulse_key(task_id), ConsistentRead=True
            )
        item = answer.get("Item")
        return decode_pulse(item, self._now()) if item else None

    def _beat_only(self, pulse: Pulse) -> Item:
        try:
            return self._beat(pulse, "#attempt = :attempt", progress=False)
        except _Behind:
            raise LeaseLost(None) from None

    def _beat(self, pulse: Pulse, condition: str, *, progress: bool) -> Item:
        values = {
            ":attempt": n(pulse.attempt),
            ":worker": s(pulse.worker),
            ":beat_at": n(pulse.beat_at),
            ":stage": s(pulse.stage[:MAX_STAGE]),
            ":expires_at": n(self._expiry()),
        }
        if progress:
            values[":progress"] = ratio(pulse.progress)
        names = {f"#{v[1:]}": v[1:] for v in values} | ({"#pk": "pk"} if progress else {})
        sets = ", ".join(f"#{v[1:]} = {v}" for v in values)
        try:
            with available():
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=pulse_key(pulse.task_id),
                    UpdateExpression=f"SET {sets}",
                    ConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues=values,
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            raise _Behind(error) from error
        return answer["Attributes"]

    def _expiry(self) -> int:
        return self._now() // 1000 + KEPT_SECONDS


_NEWER: Final = (
    "attribute_not_exists(#pk) OR #attempt < :attempt OR (#attempt = :attempt"
    " AND (attribute_not_exists(#progress) OR #progress <= :progress))"
)


class _Behind(Exception):
    """The pulse is of another attempt, or further on; `attempt` is what it is of."""

    def __init__(self, error: ClientError) -> None:
        super().__init__()
        self.attempt = int_of(error.response.get("Item", {}), "attempt", -1)  # type: ignore[arg-type]
