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
    one_of,
    or_null,
    ref,
)
from taskgate.gateway.outbox.delivering import Reason
from taskgate.gateway.outbox.relating import ChainState
from taskgate.gateway.steer.telling import Stand
from taskgate.lifecycle.owing import KEPT_TRIES
from taskgate.receivers import Breaker
from taskgate.task import Duty

TRIED: Final = object_of(
    {
        "at": TIME,
        "status": described(or_null(WHOLE), "Null when there was no whole answer."),
        "ms": WHOLE,
        "reason": one_of(Reason),
        "detail": described(TEXT, "More about the reason; often empty."),
    }
)
CALLBACK: Final[Schema] = {
    "url": TEXT,
    "events": list_of(TEXT),
    "state": described(
        one_of(Stand),
        "`waiting` while the task lives; `not_asked` when it ended in a way that is"
        " not among the events.",
    ),
    "tries": described(WHOLE, "Attempts in all."),
    "next_try_at": described(or_null(TIME), "Null when nothing more is to be sent."),
    "latest": described(list_of(TRIED), f"The latest {KEPT_TRIES} attempts, the oldest first."),
}
_RECEIVER: Final = object_of(
    {
        "breaker": one_of(Breaker),
        "failures": described(WHOLE, "Signs of illness in a row."),
        "since": described(or_null(TIME), "When the breaker opened."),
        "next_probe_at": described(or_null(TIME), "The next callback that may try it."),
    }
)
DEBTS: Final[Schema] = {
    "duties": list_of(one_of(Duty)),
    "next_at": described(TIME, "When somebody sees to it next."),
    "callback": described(
        or_null(
            object_of(
                {
                    "tries": described(WHOLE, "Attempts so far."),
                    "last": or_null(TRIED),
                    "next_try_at": TIME,
                    "receiver": described(or_null(_RECEIVER), "Host and port of your URL."),
                }
            )
        ),
        "Null when none is owed.",
    ),
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
        or_null(object_of({"state": one_of(ChainState)})),
        "This task and all that follows it, taken together; null when nothing follows.",
    ),
}
SCHEMAS: Final[dict[str, Schema]] = {
    "Callback": object_of(CALLBACK),
    "TaskCallback": object_of({"id": ID, **CALLBACK}),
    "WebhookSecrets": object_of(
        {"secrets": described(list_of(TEXT), "`whsec_…`, the newest first.")}
    ),
}
