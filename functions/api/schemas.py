"""JSON Schemas of what goes in and out. A test holds every real answer to them."""

from __future__ import annotations

from typing import Final

from functions.api import fleet
from functions.api.bodies import (
    CancelBody,
    ExtendBody,
    PriorityBody,
    ReasonBody,
    RescheduleBody,
    SubmitBody,
)
from functions.api.callback_schemas import CALLBACK, DEBTS, RELATIONS
from functions.api.cancel_schemas import CANCEL, OUTCOME
from functions.api.upload_operations import UPLOAD, UPLOAD_ID_SCHEMA
from functions.api.uploads import UploadBody
from functions.http.problems import kinds
from functions.http.shapes import (
    ID,
    REFERENCE,
    SECONDS,
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
from taskgate.catalog import CATALOG
from taskgate.gateway.views import explaining
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.uploads import WHOLE as WHOLE_INPUT


def components() -> dict[str, Schema]:
    """Every named schema."""
    return {
        **_submit(),
        "Cancel": CancelBody.model_json_schema(ref_template=REFERENCE),
        "Reason": ReasonBody.model_json_schema(ref_template=REFERENCE),
        "Extend": ExtendBody.model_json_schema(ref_template=REFERENCE),
        "Priority": PriorityBody.model_json_schema(ref_template=REFERENCE),
        "Reschedule": RescheduleBody.model_json_schema(ref_template=REFERENCE),
        **_inputs(),
        "TaskSummary": object_of(SUMMARY),
        "TaskRecord": object_of(RECORD),
        "Task": object_of({**RECORD, **PULSE, **RELATIONS}),
        "Callback": object_of(CALLBACK),
        "TaskCallback": object_of({"id": ID, **CALLBACK}),
        "WebhookSecrets": object_of(
            {"secrets": described(list_of(TEXT), "`whsec_…`, the newest first.")}
        ),
        "UploadTerms": UploadBody.model_json_schema(ref_template=REFERENCE),
        "Upload": object_of(UPLOAD),
        "UploadedInput": described(
            object_of({WHOLE_INPUT: UPLOAD_ID_SCHEMA}), "An input in JSON that was uploaded."
        ),
        "TaskPage": object_of({"tasks": list_of(ref("TaskSummary")), "next_cursor": or_null(TEXT)}),
        "Status": object_of(STATUS),
        "Explanation": object_of(EXPLANATION),
        "Queues": object_of(
            {
                "queues": list_of(object_of(QUEUE)),
                "intake": described(or_null(ref("Pause")), "Whether no submit is accepted."),
                "types": described(
                    {"type": "object", "additionalProperties": ref("Pause")},
                    "The task types that are paused, by name.",
                ),
            }
        ),
        "Pause": object_of(PAUSE),
        **fleet.SCHEMAS,
        "State": {"enum": [state.value for state in State], "type": "string"},
        "Error": object_of(ERROR),
        "ErrorInFull": object_of({**ERROR, "details": TEXT}),
        "Canceled": object_of({**RECORD, **OUTCOME}),
        "ResultFile": object_of(RESULT_FILE),
        "Result": object_of(RESULT),
        "TaskTypes": object_of({"task_types": list_of(object_of(TASK_TYPE))}),
        "Stats": object_of(STATS),
        "Health": object_of({"status": {"const": "ok"}, "version": TEXT, "stage": TEXT}),
        "OpenApi": {"type": "object", "description": "An OpenAPI 3.1 document."},
        "Page": {"type": "string", "description": "An HTML page."},
        "Problem": _problem(),
        "AwsMessage": described(object_of({"message": TEXT}), "AWS's own short form."),
    }


def _input_name(model: type) -> str:
    return model.__name__


def _inputs() -> dict[str, Schema]:
    """The input of each type, and the named parts of them."""
    found: dict[str, Schema] = {}
    for kind in CATALOG:
        schema = kind.input_model.model_json_schema(ref_template=REFERENCE)
        found |= schema.pop("$defs", {})
        found[_input_name(kind.input_model)] = schema
    return found


def _submit() -> dict[str, Schema]:
    """The body of a submit, and the named parts of it."""
    schema = SubmitBody.model_json_schema(ref_template=REFERENCE)
    inputs = [*(ref(_input_name(kind.input_model)) for kind in CATALOG), ref("UploadedInput")]
    schema["properties"]["type"]["enum"] = [kind.name for kind in CATALOG]
    schema["properties"]["input"] = {
        "anyOf": inputs,
        "description": "The task's input, by the schema of its type.",
    }
    return {**schema.pop("$defs", {}), "Submit": schema}


def _problem() -> Schema:
    codes = sorted(kind.code for kind in kinds())
    schema = object_of(PROBLEM | {"code": {"type": "string", "enum": codes}})
    schema["required"] = [name for name in PROBLEM if name not in ("errors", "state")]
    return schema


ERROR: Final[Schema] = {
    "code": {"type": "string", "enum": [code.value for code in ErrorCode]},
    "message": TEXT,
    "class": {"type": "string", "enum": [kind.value for kind in ErrorClass]},
    "retryable": {"type": "boolean"},
}
RESULT_FILE: Final[Schema] = {
    "name": TEXT,
    "size": described(WHOLE, "Bytes."),
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "content_type": TEXT,
}
RESULT: Final[Schema] = {
    "id": ID,
    "files": list_of(object_of({**RESULT_FILE, "url": described(TEXT, "Signed; needs no key.")})),
    "output": {"description": "The runner's small output, any JSON value."},
    "expires_at": described(or_null(TIME), "The links are good until then; null without files."),
}
SUMMARY: Final[Schema] = {
    "id": ID,
    "type": TEXT,
    "state": ref("State"),
    "priority": {"type": "string", "enum": ["low", "normal", "high"]},
    "attempt": described(WHOLE, "Claims so far."),
    "created_at": TIME,
    "updated_at": described(
        TIME, "The last change of state, or the last beat where the pulse shows."
    ),
    "run_at": described(or_null(TIME), "When it is to start; null for at once."),
    "queued_at": or_null(TIME),
    "started_at": or_null(TIME),
    "ended_at": or_null(TIME),
    "deadline_at": described(TIME, "By then it has ended, whatever happens."),
    "error": described(or_null(ref("ErrorInFull")), "Why it ended badly, or its last attempt did."),
    "cancel": CANCEL,
    "result": or_null(object_of({"files": list_of(ref("ResultFile")), "output": {}})),
    "metadata": {"type": "object", "additionalProperties": TEXT},
    "parent": described(or_null(ID), "The task that it follows."),
    "reused_from": described(
        or_null(ID), "It never ran: it was given what this task of yours had brought."
    ),
    "trace_id": described(
        {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "The trace that it belongs to: your `traceparent`'s, its parent's, or its own.",
    ),
    "urls": object_of(dict.fromkeys(("self", "status", "result", "explain", "cancel"), TEXT)),
}
_BUDGET: Final = object_of({"limit": WHOLE, "spent": WHOLE, "left": WHOLE})
BUDGETS: Final = object_of(dict.fromkeys(("retries", "crashes", "interruptions"), _BUDGET))
_HISTORY_ENTRY: Final = object_of(
    {
        "at": TIME,
        "verb": {"type": "string", "enum": [verb.value for verb in Verb]},
        "from": described(or_null(ref("State")), "Null for the first entry, and after a fold."),
        "to": ref("State"),
        "attempt": WHOLE,
        "actor": TEXT,
        "reason": TEXT,
        "folded": described(WHOLE, "Entries between the one before and this one, no longer kept."),
    }
)
_LIMITS: Final = (
    "queue_timeout", "run_timeout", "max_run", "deadline", "redeliver_after", "lease",
    "send_check", "stall_grace", "cancel_grace",
)  # fmt: skip
RECORD: Final[Schema] = {
    **SUMMARY,
    "generation": described(WHOLE, "How often a person has reopened it."),
    "not_before": described(or_null(TIME), "The next attempt waits until then."),
    "budgets": BUDGETS,
    "limits": object_of({**dict.fromkeys(_LIMITS, SECONDS), "max_redeliveries": WHOLE}),
    "callback": described(or_null(ref("Callback")), "Null when nobody is to be told."),
    "history": list_of(_HISTORY_ENTRY),
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
    "error": or_null(ref("Error")),
}
_LOOK: Final = object_of(
    {
        "at": described(TIME, "Not before this, unless something moves."),
        "by": described(TIME, "At about this at the latest."),
    }
)
_NEXT_LIMIT: Final = object_of(
    {"name": TEXT, "at": TIME, "then": described(ref("State"), "The state that follows.")}
)
_HOLDER: Final = object_of({"worker": TEXT, "started_at": TIME, "last_sign_at": TIME})
QUANTILES: Final = or_null(
    object_of({"p50_seconds": SECONDS, "p90_seconds": SECONDS, "samples": WHOLE})
)
EXPLANATION: Final[Schema] = {
    "id": ID,
    "state": ref("State"),
    "since": TIME,
    "why": described(TEXT, "Why it is in this state."),
    "waits_for": described(or_null(TEXT), "Null once it has ended."),
    "next_look": described(or_null(_LOOK), "When the gateway looks; null when nothing is owed."),
    "next_limit": described(or_null(_NEXT_LIMIT), "The limit that comes first."),
    "holder": described(or_null(_HOLDER), "The worker of the present attempt."),
    "lane": object_of(
        {
            "name": TEXT,
            "waiting": described(
                or_null(WHOLE), "About so many wait in it; null when it does not."
            ),
        }
    ),
    "cancel": CANCEL,
    "estimate": described(
        or_null(object_of({"wait": QUANTILES, "run": QUANTILES})),
        "From what tasks of its type in its lane did since yesterday, within a factor of 1.42; a part"
        " is null where fewer than 20 were seen, the whole once it has ended.",
    ),
    "budgets": BUDGETS,
    "owes": described(or_null(object_of(DEBTS)), "What it owes, once it has ended."),
    "actions": list_of(
        {
            "type": "string",
            "enum": sorted({*explaining.ACTIONS, *explaining.OPERATORS, "fail"}),
            "description": "What you may ask for now.",
        }
    ),
    "sentences": described(list_of(TEXT), "The same in plain words."),
}
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
    "priority": {"type": "string", "enum": ["low", "normal", "high"]},
    "waiting": described(WHOLE, "About so many messages."),
    "paused": described(or_null(ref("Pause")), "Whether nothing is started from it."),
}
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
    "code": described(TEXT, "Stable; switch on this."),
    "instance": described(TEXT, "The request's id, as it stands in the log."),
    "errors": list_of(object_of({"field": TEXT, "message": TEXT})),
    "state": ref("State"),
}
