"""JSON Schemas of a callback, and of what follows a task."""

from __future__ import annotations

from typing import Final

from functions.http.shapes import (
    ID,
    TEXT,
    TIME,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    or_null,
    ref,
)
from taskgate.gateway.delivering import Reason
from taskgate.gateway.relating import ChainState
from taskgate.gateway.telling import Stand
from taskgate.lifecycle.owing import KEPT_TRIES

_TRIED: Final = object_of(
    {
        "at": TIME,
        "status": described(or_null(WHOLE), "Null when there was no whole answer."),
        "ms": WHOLE,
        "reason": {"type": "string", "enum": [reason.value for reason in Reason]},
        "detail": described(TEXT, "More about the reason; often empty."),
    }
)
CALLBACK: Final[Schema] = {
    "url": TEXT,
    "events": list_of(TEXT),
    "state": {
        "type": "string",
        "enum": [stand.value for stand in Stand],
        "description": "`waiting` while the task lives; `not_asked` when it ended in a way that is"
        " not among the events.",
    },
    "tries": described(WHOLE, "Attempts in all."),
    "next_try_at": described(or_null(TIME), "Null when nothing more is to be sent."),
    "latest": described(list_of(_TRIED), f"The latest {KEPT_TRIES} attempts, the oldest first."),
}
RELATIONS: Final[Schema] = {
    "children": list_of(
        object_of(
            {
                "id": ID,
                "type": or_null(TEXT),
                "state": described(or_null(ref("State")), "Null until it is put on record."),
            }
        )
    ),
    "chain": described(
        or_null(
            object_of({"state": {"type": "string", "enum": [state.value for state in ChainState]}})
        ),
        "This task and all that follows it, taken together; null when nothing follows.",
    ),
}
