"""Cold start of the outbox, and its three ways to be woken.

The table's stream says at once that a task owes something: it is only passed on as an errand, so
that no receiver can hold up a shard. An errand is one look at one task. The schedule is the
backstop: it sends an errand for every owed clock that is due.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any, Final

from functions.batches import Record, handled
from functions.logs import json_logger
from functions.outbox_callback.sender import Sender
from functions.outbox_callback.telling import told
from functions.rooms import open_room
from taskgate.aws.codec import id_of
from taskgate.aws.errands import read
from taskgate.aws.master import tenant_secrets
from taskgate.catalog import CATALOG
from taskgate.errors import Unavailable
from taskgate.events import event as tell
from taskgate.events import swallowed
from taskgate.gateway.outbox.delivering import Attempt
from taskgate.gateway.outbox.settling import Courier, Outbox
from taskgate.settings import Environment
from taskgate.spans import Spans, open_spans

SPARED_MS: Final = 5000


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One batch of the stream, one errand, or one tick of the schedule."""
    try:
        return run(_outbox(), event, context.get_remaining_time_in_millis())
    finally:
        _spans().flush()  # once it has answered, the process may be frozen


def run(outbox: Outbox, event: Mapping[str, Any], time_left_ms: int) -> dict[str, Any]:
    """Answer the event by what it is."""
    records = event.get("Records")
    if not records:
        return _backstop(outbox, time_left_ms)
    if "dynamodb" in records[0]:
        return pass_on(outbox, records)
    return handled(event, lambda record: settle(outbox, record))


def pass_on(outbox: Outbox, records: list[Record]) -> dict[str, Any]:
    """An errand for every task that has just come to owe something.

    While the queue is away the record is named, and Lambda comes again from there; what has been
    passed on twice is settled once. A record that is no change of ours, whatever is wrong with it,
    holds up no other: if it owes something, its clock says so to the backstop.
    """
    for record in records:
        try:
            if newly_owed(record) or brought_forward(record, outbox.ports.now()):
                outbox.ports.errands.send(id_of(record["dynamodb"]["NewImage"]), 0)
        except Unavailable:
            return {"batchItemFailures": [{"itemIdentifier": _sequence(record)}]}
        except Exception as error:  # noqa: BLE001 - the others must not pay
            swallowed("change_not_passed_on", error, record=str(record.get("eventID")))
    return {"batchItemFailures": []}


def newly_owed(record: Record) -> bool:
    """Whether the change made the task owe: later looks have errands of their own."""
    change = record["dynamodb"]
    return _owed(change.get("NewImage")) and not _owed(change.get("OldImage"))


def brought_forward(record: Record, now: int) -> bool:
    """Whether somebody asked for what was to come later: it is due now, and was not."""
    change = record["dynamodb"]
    old, new = _due_at(change.get("OldImage")), _due_at(change.get("NewImage"))
    return new is not None and new < min(old or 0, now + 1000)


def settle(outbox: Outbox, record: Record) -> None:
    """One look at one task, as often as there is something to settle at once."""
    task_id, news = read(str(record["body"]))
    did = outbox.tell(task_id, news) if news else outbox.settle(task_id)
    tell("errand", task=task_id, did=did)


def _backstop(outbox: Outbox, time_left_ms: int) -> dict[str, Any]:
    shards = range(outbox.environment.clock_shards)
    done = outbox.errands_due(shards, outbox.ports.now() + time_left_ms - SPARED_MS)
    tell("outbox_swept", errands=done.errands, oldest_owed_seconds=done.oldest_owed_ms / 1000)
    return {"errands": done.errands}


def _owed(image: Mapping[str, Any] | None) -> bool:
    return str((image or {}).get("clock_shard", {}).get("S", "")).startswith("owed#")


def _due_at(image: Mapping[str, Any] | None) -> int | None:
    """The clock of what a task owes; None when it owes nothing."""
    return int(image["due_at"]["N"]) if image and _owed(image) else None


def _sequence(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


@functools.cache
def _outbox() -> Outbox:
    room = open_room(os.environ)
    json_logger("outbox-callback")
    environment = room.environment
    return Outbox(
        ports=room.ports,
        catalog=CATALOG,
        environment=environment,
        courier=_courier(environment),
        secrets=functools.partial(
            tenant_secrets, environment.webhook_master, environment.webhook_versions
        ),
    )


@functools.cache
def _spans() -> Spans:
    return open_spans(Environment.read(os.environ), "outbox-callback")


def _courier(environment: Environment) -> Courier:
    sender = Sender(allow_local=environment.stage == "local")

    def deliver(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        return sender.send(url, body, headers)

    return told(deliver, _spans())
