"""Cold start of the broadcast, and one batch of the table's stream."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import boto3

from functions.logs import json_logger
from taskgate.aws.clients import available
from taskgate.aws.codec import decode
from taskgate.aws.values import Item
from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.outbox.broadcasting import SOURCE, TaskEvent, transition_of
from taskgate.settings import Environment

MOST: Final = 10
"""PutEvents takes no more at once."""

Put = Callable[[Sequence[Mapping[str, Any]]], Sequence[bool]]
"""Send entries; says of each whether the bus has it."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One batch of the stream."""
    del context
    return run(event["Records"], _put())


def run(records: Sequence[Mapping[str, Any]], put: Put) -> dict[str, Any]:
    """Send the transitions in their order; the first that the bus does not take comes again."""
    found = [_transition(record) for record in records]
    sent = [pair for pair in found if pair is not None]
    for start in range(0, len(sent), MOST):
        part = sent[start : start + MOST]
        taken = _taken(put, [_entry(event) for _, event in part])
        for (number, _), is_taken in zip(part, taken, strict=True):
            if not is_taken:
                return {"batchItemFailures": [{"itemIdentifier": number}]}
    return {"batchItemFailures": []}


def _transition(record: Mapping[str, Any]) -> tuple[str, TaskEvent] | None:
    """The record's number and transition. One that cannot be read holds up no other."""
    try:
        event = told(record["dynamodb"])
        return (str(record["dynamodb"]["SequenceNumber"]), event) if event else None
    except Exception as error:  # noqa: BLE001 - the others must not pay
        swallowed("change_not_told", error, record=str(record.get("eventID")))
        return None


def told(change: Mapping[str, Any]) -> TaskEvent | None:
    """The transition of one record of the stream, if it is one of a task."""
    new: Item | None = change.get("NewImage")
    if new is None or new["sk"]["S"] != "TASK":
        return None
    old: Item | None = change.get("OldImage")
    return transition_of(decode(old) if old else None, decode(new))


def _taken(put: Put, entries: Sequence[Mapping[str, Any]]) -> Sequence[bool]:
    try:
        return put(entries)
    except Unavailable as error:
        swallowed("bus_unavailable", error)
        return [False] * len(entries)


def _entry(event: TaskEvent) -> dict[str, Any]:
    return {
        "Source": SOURCE,
        "DetailType": event.kind,
        "Detail": json.dumps(event.detail),
        "Time": datetime.fromtimestamp(event.at / 1000, UTC),
    }


@functools.cache
def _put() -> Put:
    bus = Environment.read(os.environ).event_bus
    json_logger("event-bus")
    client = boto3.client("events")

    def put(entries: Sequence[Mapping[str, Any]]) -> Sequence[bool]:
        with available():
            named: Any = [{**entry, "EventBusName": bus} for entry in entries]
            answer = client.put_events(Entries=named)
        return ["ErrorCode" not in entry for entry in answer["Entries"]]

    return put
