"""JSON Schemas of bulk acts and switches."""

from __future__ import annotations

from typing import Final

from functions.admin.bulk_bodies import BulkBody, ConfirmBody, StopBody
from functions.admin.switch_bodies import PauseSwitchBody, ResumeSwitchBody
from functions.http.shapes import (
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
from taskgate.bulks import BULK_ID, BulkAct, BulkState
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.switches import Kind
from taskgate.task import CallbackState

FILTER: Final[Schema] = {
    "tenant": or_null(TEXT),
    "user": or_null(TEXT),
    "type": or_null(TEXT),
    "states": list_of(one_of(State)),
    "since": or_null(TIME),
    "until": described(
        or_null(TIME), "Never later than the dry run: what came since was not counted."
    ),
    "code": or_null(one_of(ErrorCode)),
    "day": or_null(TEXT),
    "callback": or_null(one_of(CallbackState)),
}
BULK: Final[Schema] = {
    "id": {"type": "string", "pattern": f"^{BULK_ID.pattern}$"},
    "act": one_of(BulkAct),
    "state": one_of(BulkState),
    "filter": object_of(FILTER),
    "reason": TEXT,
    "by": described(TEXT, "Who planned it: user and key."),
    "planned_at": TIME,
    "confirm_before": TIME,
    "started_at": or_null(TIME),
    "ended_at": or_null(TIME),
    "count": described(WHOLE, "Tasks that fitted at the dry run."),
    "counted_all": described({"type": "boolean"}, "False: `count` is the least that it can be."),
    "done": WHOLE,
    "found_done": described(WHOLE, "Met again, or done by a run that died; left as they were."),
    "left": described(WHOLE, "About how many are still to come."),
    "failed": described(
        list_of(object_of({"reason": TEXT, "count": WHOLE})),
        "How many were left as they were, and why.",
    ),
}
SWITCH: Final[Schema] = {
    "kind": one_of(Kind),
    "name": described(TEXT, "Of the lane or the type; empty for the intake."),
    "paused": {"type": "boolean"},
    "refuses": described({"type": "boolean"}, "Of a paused type: its submits are refused, too."),
    "reason": TEXT,
    "by": TEXT,
    "since": or_null(TIME),
    "until": described(or_null(TIME), "It ends by itself then."),
    "held_at": described(or_null(TIME), "The latest moment at which it held something."),
    "acts": described(
        list_of(object_of({"at": TIME, "by": TEXT, "what": TEXT, "reason": TEXT})), "The last 20."
    ),
}
SCHEMAS: Final[dict[str, Schema]] = {
    **bodies_of(
        {
            "PlanBulk": BulkBody,
            "ConfirmBulk": ConfirmBody,
            "StopBulk": StopBody,
            "PauseSwitch": PauseSwitchBody,
            "ResumeSwitch": ResumeSwitchBody,
        }
    ),
    "Bulk": object_of(BULK),
    "Bulks": object_of({"bulks": list_of(ref("Bulk")), "next_cursor": NEXT}),
    "BulkDryRun": object_of(
        {
            "bulk": ref("Bulk"),
            "sample": described(list_of(ref("AdminTaskRow")), "Some of those that fit."),
            "calls": described(WHOLE, "About how many AWS calls it would cost."),
            "minutes": described(WHOLE, "The least that it would take."),
            "token": described(TEXT, "What confirms it: this plan, by this key, in time."),
        }
    ),
    "Switch": object_of(SWITCH),
    "Switches": object_of({"switches": list_of(ref("Switch"))}),
}
