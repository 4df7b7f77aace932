"""A task as it is told: in short, in full, and its state alone."""

from __future__ import annotations

from typing import Final

from functions.api.schemas.callbacks import RELATIONS
from functions.api.schemas.cancels import CANCEL, OUTCOME
from functions.http.shapes import (
    ID,
    SECONDS,
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
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb

ERROR: Final[Schema] = {
    "code": one_of(ErrorCode),
    "message": TEXT,
    "class": one_of(ErrorClass),
    "retryable": {"type": "boolean"},
}
SUMMARY: Final[Schema] = {
    "id": ID,
    "type": TEXT,
    "state": ref("State"),
    "priority": one_of(("low", "normal", "high")),
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
    "expired": described(
        {"type": "boolean"}, "Its time is over: only its end is told of; to ask for it is 410."
    ),
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
        "verb": one_of(Verb),
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
SCHEMAS: Final[dict[str, Schema]] = {
    "TaskSummary": object_of(SUMMARY),
    "TaskRecord": object_of(RECORD),
    "Task": object_of({**RECORD, **PULSE, **RELATIONS}),
    "TaskPage": object_of({"tasks": list_of(ref("TaskSummary")), "next_cursor": or_null(TEXT)}),
    "Status": object_of(STATUS),
    "State": one_of(State),
    "Error": object_of(ERROR),
    "ErrorInFull": object_of({**ERROR, "details": TEXT}),
    "Canceled": object_of({**RECORD, **OUTCOME}),
}
