"""What the API tells of itself, and of a request that it could not serve."""

from __future__ import annotations

from typing import Final

from functions.http.problems import kinds
from functions.http.shapes import (
    SECONDS,
    TEXT,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
    ref,
)

TASK_TYPE: Final[Schema] = {
    "name": TEXT,
    "title": TEXT,
    "pool": TEXT,
    "version": described(WHOLE, "Raised when the same input brings another result."),
    "reuse_seconds": described(
        or_null(WHOLE), "So long a result serves your identical submits; null: it does not."
    ),
    "limits": object_of(
        dict.fromkeys(("queue_timeout", "run_timeout", "max_run", "deadline"), SECONDS)
    ),
    "input_schema": {"type": "object", "description": "JSON Schema of the type's input."},
}
STATS: Final[Schema] = {
    **dict.fromkeys(("active", "submitted", "succeeded", "failed", "timed_out", "canceled"), WHOLE),
    "mean_wait_seconds": described(
        or_null(SECONDS), "From submit to start; null before any ended."
    ),
    "mean_run_seconds": described(or_null(SECONDS), "From start to end; null before any ended."),
}
PROBLEM: Final[Schema] = {
    "type": described(TEXT, "Where this kind of problem is described, relative to the API."),
    "title": TEXT,
    "status": WHOLE,
    "detail": TEXT,
    "code": TEXT,
    "instance": described(TEXT, "The request's id, as it stands in the log."),
    "errors": list_of(object_of({"field": TEXT, "message": TEXT})),
    "state": ref("State"),
}
SCHEMAS: Final[dict[str, Schema]] = {
    "TaskTypes": object_of({"task_types": list_of(object_of(TASK_TYPE))}),
    "Stats": object_of(STATS),
    "Health": object_of({"status": {"const": "ok"}, "version": TEXT, "stage": TEXT}),
    "OpenApi": {"type": "object", "description": "An OpenAPI 3.1 document."},
    "Page": {"type": "string", "description": "An HTML page."},
    "AwsMessage": described(object_of({"message": TEXT}), "AWS's own short form."),
}


def problem() -> Schema:
    """A problem of any kind. Asked for late: the kinds are those of all that is imported."""
    code = described(one_of(sorted(kind.code for kind in kinds())), "Stable; switch on this.")
    schema = object_of({**PROBLEM, "code": code})
    schema["required"] = [name for name in PROBLEM if name not in ("errors", "state")]
    return schema
