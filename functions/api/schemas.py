"""JSON Schemas of what goes in and out. A test holds every real answer to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.api.bodies import CancelBody, SubmitBody
from functions.api.problems import kinds
from taskgate.catalog import CATALOG
from taskgate.gateway.reading import TASK_ID
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.task import CancelMode

Schema = dict[str, Any]
REFERENCE: Final = "#/components/schemas/{model}"


def ref(name: str) -> Schema:
    """A reference to a schema of this document."""
    return {"$ref": REFERENCE.format(model=name)}


def components() -> dict[str, Schema]:
    """Every named schema."""
    return {
        "Submit": _submit(),
        "Cancel": CancelBody.model_json_schema(ref_template=REFERENCE),
        **{_input_name(kind.input_model): _input(kind.input_model) for kind in CATALOG},
        "TaskSummary": _object(SUMMARY),
        "TaskRecord": _object(RECORD),
        "Task": _object({**RECORD, **PULSE}),
        "TaskPage": _object({"tasks": _list(ref("TaskSummary")), "next_cursor": _or_null(TEXT)}),
        "Status": _object(STATUS),
        "State": {"enum": [state.value for state in State], "type": "string"},
        "Error": _object(ERROR),
        "ErrorInFull": _object({**ERROR, "details": TEXT}),
        "ResultFile": _object(RESULT_FILE),
        "Result": _object(RESULT),
        "TaskTypes": _object({"task_types": _list(_object(TASK_TYPE))}),
        "Stats": _object(STATS),
        "Health": _object({"status": {"const": "ok"}, "version": TEXT, "stage": TEXT}),
        "OpenApi": {"type": "object", "description": "An OpenAPI 3.1 document."},
        "Page": {"type": "string", "description": "An HTML page."},
        "Problem": _problem(),
    }


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _about(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _input_name(model: type) -> str:
    return model.__name__


def _input(model: Any) -> Schema:
    return dict(model.model_json_schema(ref_template=REFERENCE))


def _submit() -> Schema:
    schema = SubmitBody.model_json_schema(ref_template=REFERENCE)
    inputs = [ref(_input_name(kind.input_model)) for kind in CATALOG]
    schema["properties"]["type"]["enum"] = [kind.name for kind in CATALOG]
    schema["properties"]["input"] = {
        "anyOf": inputs,
        "description": "The task's input, by the schema of its type.",
    }
    return schema


def _problem() -> Schema:
    codes = sorted(kind.code for kind in kinds())
    schema = _object(PROBLEM | {"code": {"type": "string", "enum": codes}})
    schema["required"] = [name for name in PROBLEM if name not in ("errors", "state")]
    return schema


TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
SECONDS: Final[Schema] = {"type": "number", "minimum": 0, "description": "Seconds."}
TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
}
ID: Final[Schema] = {"type": "string", "pattern": f"^{TASK_ID.pattern}$"}

ERROR: Final[Schema] = {
    "code": {"type": "string", "enum": [code.value for code in ErrorCode]},
    "message": TEXT,
    "class": {"type": "string", "enum": [kind.value for kind in ErrorClass]},
    "retryable": {"type": "boolean"},
}
RESULT_FILE: Final[Schema] = {
    "name": TEXT,
    "size": _about(WHOLE, "Bytes."),
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "content_type": TEXT,
}
RESULT: Final[Schema] = {
    "id": ID,
    "files": _list(_object({**RESULT_FILE, "url": _about(TEXT, "Signed; needs no key.")})),
    "output": {"description": "The runner's small output, any JSON value."},
    "expires_at": _about(_or_null(TIME), "The links are good until then; null without files."),
}
SUMMARY: Final[Schema] = {
    "id": ID,
    "type": TEXT,
    "state": ref("State"),
    "priority": {"type": "string", "enum": ["low", "normal", "high"]},
    "attempt": _about(WHOLE, "Claims so far."),
    "created_at": TIME,
    "updated_at": _about(TIME, "The last change of state, or the last beat where the pulse shows."),
    "queued_at": _or_null(TIME),
    "started_at": _or_null(TIME),
    "ended_at": _or_null(TIME),
    "deadline_at": _about(TIME, "By then it has ended, whatever happens."),
    "error": _about(_or_null(ref("ErrorInFull")), "Why it ended badly, or its last attempt did."),
    "cancel": _or_null(
        _object(
            {
                "mode": {"type": "string", "enum": [mode.value for mode in CancelMode]},
                "code": ERROR["code"],
                "requested_at": TIME,
            }
        )
    ),
    "result": _or_null(_object({"files": _list(ref("ResultFile")), "output": {}})),
    "metadata": {"type": "object", "additionalProperties": TEXT},
    "urls": _object(dict.fromkeys(("self", "status", "result", "cancel"), TEXT)),
}
_BUDGET: Final = _object({"limit": WHOLE, "spent": WHOLE, "left": WHOLE})
_HISTORY_ENTRY: Final = _object(
    {
        "at": TIME,
        "verb": {"type": "string", "enum": [verb.value for verb in Verb]},
        "from": _about(_or_null(ref("State")), "Null for the first entry, and after a fold."),
        "to": ref("State"),
        "attempt": WHOLE,
        "actor": TEXT,
        "reason": TEXT,
        "folded": _about(WHOLE, "Entries between the one before and this one, no longer kept."),
    }
)
_LIMITS: Final = (
    "queue_timeout", "run_timeout", "max_run", "deadline", "redeliver_after", "lease",
    "send_check", "stall_grace", "cancel_grace",
)  # fmt: skip
RECORD: Final[Schema] = {
    **SUMMARY,
    "generation": _about(WHOLE, "How often a person has reopened it."),
    "not_before": _about(_or_null(TIME), "The next attempt waits until then."),
    "budgets": _object(dict.fromkeys(("retries", "crashes", "interruptions"), _BUDGET)),
    "limits": _object({**dict.fromkeys(_LIMITS, SECONDS), "max_redeliveries": WHOLE}),
    "history": _list(_HISTORY_ENTRY),
}
PULSE: Final[Schema] = {
    "progress": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "Of this attempt; never falling within it; 1 only when it succeeded.",
    },
    "stage": TEXT,
}
STATUS: Final[Schema] = {
    "id": ID,
    "state": ref("State"),
    **PULSE,
    "attempt": WHOLE,
    "updated_at": TIME,
    "error": _or_null(ref("Error")),
}
TASK_TYPE: Final[Schema] = {
    "name": TEXT,
    "title": TEXT,
    "pool": TEXT,
    "limits": _object(
        dict.fromkeys(("queue_timeout", "run_timeout", "max_run", "deadline"), SECONDS)
    ),
    "input_schema": {"type": "object", "description": "JSON Schema of the type's input."},
}
STATS: Final[Schema] = {
    **dict.fromkeys(("active", "submitted", "succeeded", "failed", "timed_out", "canceled"), WHOLE),
    "mean_wait_seconds": _about(_or_null(SECONDS), "From submit to start; null before any ended."),
    "mean_run_seconds": _about(_or_null(SECONDS), "From start to end; null before any ended."),
}
PROBLEM: Final[Schema] = {
    "type": _about(TEXT, "Where this kind of problem is described, relative to the API."),
    "title": TEXT,
    "status": WHOLE,
    "detail": TEXT,
    "code": _about(TEXT, "Stable; switch on this."),
    "instance": _about(TEXT, "The request's id, as it stands in the log."),
    "errors": _list(_object({"field": TEXT, "message": TEXT})),
    "state": ref("State"),
}
