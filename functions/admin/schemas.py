"""JSON Schemas of what goes into this room and out of it."""

from __future__ import annotations

from typing import Final

from functions.admin import acting_schemas, proof_schemas
from functions.admin.bodies import IssueBody, PlanBody, RevokeBody, RotateBody
from functions.http.shapes import (
    ID,
    NEXT,
    TEXT,
    TIME,
    WHOLE,
    Schema,
    bodies_of,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
    ref,
)
from taskgate.apikeys import KEY_ID, SHAPE
from taskgate.principal import SCOPES
from taskgate.receivers import Breaker
from taskgate.settings import PRIORITIES
from taskgate.task import Duty

KEPT: Final[Schema] = {
    "tenant": TEXT,
    "user": TEXT,
    "due_at": described(or_null(TIME), "When the gateway looks next; null when it is settled."),
    "owes": list_of(described(one_of(sorted(Duty)), "What is still to be done after its end.")),
}
TRAIL: Final = described(
    list_of(object_of({"at": TIME, "actor": TEXT, "what": TEXT})),
    "Who did what to it, and when: the first and the latest 19.",
)
KEY: Final[Schema] = {
    "id": {"type": "string", "pattern": f"^{KEY_ID.pattern}$"},
    "tenant": TEXT,
    "user": TEXT,
    "scopes": list_of(one_of(sorted(SCOPES))),
    "plan": or_null(TEXT),
    "max_pending": described(or_null(WHOLE), "The key's own limit; null takes the plan's."),
    "expires_at": or_null(TIME),
    "state": one_of(("active", "revoked", "expired")),
    "history": TRAIL,
}
PLAN: Final[Schema] = {
    "name": TEXT,
    "max_pending": WHOLE,
    "submits_per_minute": described(or_null(WHOLE), "Null: not limited."),
    "burst": WHOLE,
    "priorities": list_of(one_of(sorted(PRIORITIES))),
    "max_processing": described(or_null(WHOLE), "Null: not limited."),
    "max_upload_bytes": described(or_null(WHOLE), "Null: not limited."),
    "ledger_shards": described(WHOLE, "Items that a user's books are kept in."),
    "version": described(WHOLE, "How often it was set; 0 as it is built in."),
    "history": TRAIL,
}
RECEIVER: Final[Schema] = {
    "tenant": TEXT,
    "receiver": described(TEXT, "Host and port."),
    "breaker": one_of(Breaker),
    "failures": described(WHOLE, "Signs of illness in a row."),
    "since": described(or_null(TIME), "When its breaker opened; null while it has not."),
    "next_probe_at": or_null(TIME),
    "mark": described(TEXT, "What stands for it in the logs."),
}
_ROW: Final = ref("AdminTaskRow")
SCHEMAS: Final[dict[str, Schema]] = {
    **bodies_of(
        {
            "IssueKey": IssueBody,
            "RotateKey": RotateBody,
            "RevokeKey": RevokeBody,
            "SetPlan": PlanBody,
        }
    ),
    "AdminTaskRow": object_of({**KEPT, "task": ref("TaskSummary")}),
    "AdminTask": object_of({**KEPT, "task": ref("Task")}),
    "UnsettledTasks": object_of({"tasks": list_of(_ROW), "next_cursor": NEXT}),
    "ProblemTasks": object_of({"day": TEXT, "tasks": list_of(_ROW), "next_cursor": NEXT}),
    "UserLedger": object_of(
        {
            "tenant": TEXT,
            "user": TEXT,
            "balanced": described(
                {"type": "boolean"}, "Whether `submitted` is the sum of all the others."
            ),
            "active_tasks": list_of(ID),
            "books": ref("Stats"),
        }
    ),
    "Receivers": object_of({"receivers": list_of(object_of(RECEIVER)), "next_cursor": NEXT}),
    "ApiKey": object_of(KEY),
    "ApiKeys": object_of({"keys": list_of(ref("ApiKey")), "next_cursor": NEXT}),
    "NewApiKey": object_of(
        {
            "key": {
                "type": "string",
                "pattern": f"^{SHAPE.pattern}$",
                "description": "The key itself, this once.",
            },
            **KEY,
        }
    ),
    "Plan": object_of(PLAN),
    "Plans": object_of({"plans": list_of(ref("Plan"))}),
    **acting_schemas.SCHEMAS,
    **proof_schemas.SCHEMAS,
}
