"""Cold start of the dead-letter function, and one batch of dead messages."""

from __future__ import annotations

import os
from typing import Any

from functions.batches import Record, handled
from functions.logs import json_logger
from functions.rooms import Room, open_room
from taskgate.aws import clients
from taskgate.aws.archive import S3Archive
from taskgate.aws.lanes import read
from taskgate.books import Archive
from taskgate.errors import BadSetting
from taskgate.gateway.office.dead_letters import DeadLetter, answer

_ROOM = open_room(os.environ)
_ARCHIVE = S3Archive(clients.s3(), _ROOM.environment.results_bucket)
json_logger("dead-letter")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One batch of a dead-letter queue."""
    del context
    return run(_ROOM, _ARCHIVE, event)


def run(room: Room, archive: Archive, event: dict[str, Any]) -> dict[str, Any]:
    """Answer each dead letter; name those that must come again."""
    lanes = {url.rpartition("/")[2]: lane for lane, url in room.environment.lanes.items()}

    def handle(record: Record) -> None:
        letter = _letter(record, lanes)
        answer(room.ports, archive, letter, read(letter.body))

    return handled(event, handle)


def _letter(record: Record, lanes: dict[str, str]) -> DeadLetter:
    queue = str(record["eventSourceARN"]).rpartition(":")[2]
    lane = lanes.get(queue.removesuffix("-dead"))
    if lane is None:
        raise BadSetting("eventSourceARN", queue, "the dead-letter queue of a lane")
    attributes = record["attributes"]
    return DeadLetter(
        id=str(record["messageId"]),
        lane=lane,
        body=str(record["body"]),
        receives=int(attributes["ApproximateReceiveCount"]),
        sent_at=int(attributes["SentTimestamp"]),
    )
