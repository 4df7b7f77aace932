"""JSON Schemas of what this room answers with."""

from __future__ import annotations

from typing import Final

from functions.http.shapes import TEXT, TIME, Schema, described, list_of, object_of, or_null, ref
from taskgate.task import Duty

KEPT: Final[Schema] = {
    "tenant": TEXT,
    "user": TEXT,
    "due_at": described(or_null(TIME), "When the gateway looks next; null when it is settled."),
    "owes": list_of(
        {
            "type": "string",
            "enum": sorted(duty.value for duty in Duty),
            "description": "What is still to be done after its end.",
        }
    ),
}


def components() -> dict[str, Schema]:
    """Every named schema."""
    return {"AdminTask": object_of({**KEPT, "task": ref("Task")})}
