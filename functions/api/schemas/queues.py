"""The lanes, and what operators have paused."""

from __future__ import annotations

from typing import Final

from functions.http.shapes import (
    TEXT,
    TIME,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
    ref,
)

PAUSE: Final[Schema] = {
    "by": TEXT,
    "since": TIME,
    "reason": TEXT,
    "until": described(or_null(TIME), "It ends by itself then."),
    "refuses": described(
        {"type": "boolean"}, "Whether submits are refused; else they are accepted and held back."
    ),
}
QUEUE: Final[Schema] = {
    "lane": TEXT,
    "pool": TEXT,
    "priority": one_of(("low", "normal", "high")),
    "waiting": described(WHOLE, "About so many messages."),
    "paused": described(or_null(ref("Pause")), "Whether nothing is started from it."),
}
QUEUES: Final[Schema] = {
    "queues": list_of(object_of(QUEUE)),
    "intake": described(or_null(ref("Pause")), "Whether no submit is accepted."),
    "types": described(
        {"type": "object", "additionalProperties": ref("Pause")},
        "The task types that are paused, by name.",
    ),
}
SCHEMAS: Final[dict[str, Schema]] = {"Queues": object_of(QUEUES), "Pause": object_of(PAUSE)}
