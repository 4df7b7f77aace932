"""What is posted to receivers, as OpenAPI's `webhooks`. A test holds every letter to it."""

from __future__ import annotations

from typing import Any, Final

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
from taskgate.gateway.outbox.news import NEWS
from taskgate.lifecycle.duties import ANNOUNCED
from taskgate.lifecycle.states import ENDED, State
from taskgate.webhooks.signing import ID as MESSAGE_ID
from taskgate.webhooks.signing import SIGNATURE, TIMESTAMP

_TASK: Final[Schema] = {
    "id": ID,
    "type": TEXT,
    "generation": described(
        WHOLE, "How often a person has reopened it: a lower one is older than a higher one."
    ),
    "attempt": described(WHOLE, "Claims so far."),
}
END: Final = object_of(
    {
        "type": one_of(sorted(ANNOUNCED.values())),
        "timestamp": described(TIME, "When it ended."),
        "data": object_of(
            {
                **_TASK,
                "state": one_of(sorted(ENDED)),
                "parent": described(or_null(ID), "The task that it follows."),
                "reused_from": described(
                    or_null(ID),
                    "It never ran: it was given what this task of the same user had brought.",
                ),
                "created_at": TIME,
                "started_at": or_null(TIME),
                "ended_at": TIME,
                "error": described(or_null(ref("Error")), "Null when it succeeded."),
                "result": described(
                    list_of(ref("ResultFile")), "Its files; ask for `/result` to get links."
                ),
                "output": {"description": "The runner's small output, any JSON value."},
                "metadata": {"type": "object", "additionalProperties": TEXT},
            }
        ),
    }
)
NEWS_EVENT: Final = object_of(
    {
        "type": one_of(sorted(NEWS)),
        "timestamp": described(TIME, "When it was told: of two, the later one is the newer."),
        "data": object_of(
            {
                **_TASK,
                "state": one_of(sorted({State.PROCESSING, State.STALLED})),
                "version": described(WHOLE, "Grows with each change of the record."),
                "progress": {"type": "number", "minimum": 0, "maximum": 1},
                "stage": TEXT,
            }
        ),
    }
)
SCHEMAS: Final[dict[str, Schema]] = {"EndEvent": END, "NewsEvent": NEWS_EVENT}
_ABOUT: Final = (
    "Posted to the task's `callback_url`, signed by [Standard Webhooks](https://www.standardwebhooks.com/)"
    " over the raw body: "
)
_END: Final = (
    "once it has ended, until the receiver has it. At least once, always the same bytes under the"
    " same `webhook-id`."
)
_NEWS: Final = (
    "while it runs, when it was asked for. Sent once, never tried again, and not once it has ended."
)


def webhooks() -> dict[str, Any]:
    """The events by name."""
    return {
        "taskEnded": {"post": _event("A task has ended", _END, "EndEvent")},
        "taskNews": {"post": _event("A task is stalled, or further on", _NEWS, "NewsEvent")},
    }


def _event(summary: str, about: str, schema: str) -> dict[str, Any]:
    headers = {
        MESSAGE_ID: "Names the event: do one that comes twice once.",
        TIMESTAMP: "Epoch seconds of this attempt.",
        SIGNATURE: "`v1,` and base64; two with a space between them while the secret is rotated.",
    }
    return {
        "summary": summary,
        "description": _ABOUT + about,
        "security": [],
        "parameters": [_header(name, told) for name, told in headers.items()],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ref(schema)}},
        },
        "responses": {
            "2XX": {"description": "You have it. The body of the answer is thrown away."},
            "410": {"description": "You want no more: it is given up."},
            "default": {"description": "You do not have it."},
        },
    }


def _header(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": True, "description": about, "schema": TEXT}
