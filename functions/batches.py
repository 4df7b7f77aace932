"""The answer to a batch of queue messages: the one place that builds it.

Lambda deletes what the answer does not name, and takes an answer that names an unknown id for a
failure of the whole batch. So the ids come from what was received, and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from taskgate.events import swallowed

Record = Mapping[str, Any]


def handled(event: Mapping[str, Any], handle: Callable[[Record], object]) -> dict[str, Any]:
    """Handle each record by itself; those that fail come again, the others do not.

    A record without an id fails the whole batch: what cannot be named cannot be kept.
    """
    records: list[Record] = list(event["Records"])
    ids = [str(record["messageId"]) for record in records]
    failed = [i for i, record in zip(ids, records, strict=True) if not _is_done(i, record, handle)]
    return {"batchItemFailures": [{"itemIdentifier": i} for i in failed]}


def _is_done(record_id: str, record: Record, handle: Callable[[Record], object]) -> bool:
    try:
        handle(record)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other records must not pay
        swallowed("record_failed", error, record=record_id)
        return False
    return True
