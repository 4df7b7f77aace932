"""JSON Schemas of a cancel: how far it has come, and what its own answer says of it."""

from __future__ import annotations

from typing import Final

from functions.http.shapes import ID, TEXT, TIME, Schema, described, object_of, one_of, or_null
from taskgate.gateway.steer.steering import CancelOutcome
from taskgate.lifecycle.retry import ErrorCode
from taskgate.task import CancelMode

CANCEL: Final = or_null(
    object_of(
        {
            "mode": one_of(CancelMode),
            "code": one_of(ErrorCode),
            "asked_at": TIME,
            "asked_by": TEXT,
            "seen_at": described(or_null(TIME), "When its worker had the word."),
            "stopped_at": described(or_null(TIME), "When nothing computed it any more."),
            "enforced": {
                "type": "boolean",
                "description": "The grace was over before a worker said that it stopped.",
            },
            "kept_until": described(
                or_null(TIME),
                "Until then your next identical submit is given what the run brought, once.",
            ),
            "given_to": described(
                or_null(ID), "The task of yours that was given it: nothing is kept any more."
            ),
        }
    )
)
OUTCOME: Final[Schema] = {
    "outcome": one_of(CancelOutcome),
    "told": described(TEXT, "The outcome in plain words."),
}
