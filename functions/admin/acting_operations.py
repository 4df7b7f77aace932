"""The routes of bulk acts and switches, as their caller should understand them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import JSON_BODY, READS, Answered, Operation, Parameter
from functions.http.shapes import TEXT
from taskgate import errors
from taskgate.bulks import BULK_ID

BULK: Final = Parameter(
    "bulk_id",
    "path",
    "The bulk act's id.",
    {"type": "string", "pattern": f"^{BULK_ID.pattern}$"},
    required=True,
)
CURSOR: Final = Parameter("cursor", "query", "`next_cursor` of the page before.", TEXT)
ACTING: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/admin/bulk"): Operation(
        name="planBulk",
        scope="admin",
        summary="Plan one act for many tasks: a dry run, which changes no task",
        about="Says how many fit, shows some, and gives the token that confirms it within 10 minutes."
        " What is created after it is left alone. As an operator of all tenants, else of your own;"
        " the key needs `tasks:write`, too. A filter that no index serves is refused by the field.",
        body="PlanBulk",
        answers={201: Answered("What would be done.", "BulkDryRun")},
        refuses=(*JSON_BODY, errors.MissingScope),
    ),
    ("GET", "/v1/admin/bulk"): Operation(
        name="listBulks",
        scope="admin",
        summary="The bulk acts of the last 90 days, the latest first",
        about="Of your tenant's administrators, or as an operator all. A page may be short or empty;"
        " `next_cursor` is null on the last one only.",
        parameters=(CURSOR,),
        answers={200: Answered("A page.", "Bulks")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/admin/bulk/{bulk_id}"): Operation(
        name="getBulk",
        scope="admin",
        summary="How far a bulk act is",
        parameters=(BULK,),
        answers={200: Answered("The bulk act.", "Bulk")},
        refuses=(*READS, errors.BulkNotFound),
    ),
    ("POST", "/v1/admin/bulk/{bulk_id}/confirm"): Operation(
        name="confirmBulk",
        scope="admin",
        summary="Start what a dry run showed",
        about="With the key that planned it. The work begins within a minute and does about 200 tasks a"
        " minute. Safe to repeat.",
        parameters=(BULK,),
        body="ConfirmBulk",
        answers={200: Answered("The bulk act.", "Bulk")},
        refuses=(*JSON_BODY, errors.MissingScope, errors.BulkNotFound, errors.BadConfirmToken),
    ),
    ("POST", "/v1/admin/bulk/{bulk_id}/stop"): Operation(
        name="stopBulk",
        scope="admin",
        summary="Do no further page of a bulk act",
        about="What was done stays done. Safe to repeat.",
        parameters=(BULK,),
        body="StopBulk",
        body_required=False,
        answers={200: Answered("The bulk act.", "Bulk")},
        refuses=(*JSON_BODY[1:], errors.MissingScope, errors.BulkNotFound),
    ),
    ("GET", "/v1/admin/switches"): Operation(
        name="listSwitches",
        scope="operator",
        summary="What is paused, by whom, since when and why; and what was",
        answers={200: Answered("The switches.", "Switches")},
        refuses=READS,
    ),
    ("POST", "/v1/admin/switches/pause"): Operation(
        name="pauseSwitch",
        scope="operator",
        summary="Pause a lane, a task type or the intake",
        about="Minded everywhere within 5 seconds. What runs, runs on; nothing that was accepted is lost.",
        body="PauseSwitch",
        answers={200: Answered("The switch.", "Switch")},
        refuses=(*JSON_BODY, errors.MissingScope),
    ),
    ("POST", "/v1/admin/switches/resume"): Operation(
        name="resumeSwitch",
        scope="operator",
        summary="Resume a lane, a task type or the intake",
        about="Safe to repeat; one that is not paused stays so.",
        body="ResumeSwitch",
        answers={200: Answered("The switch.", "Switch")},
        refuses=(*JSON_BODY, errors.MissingScope),
    ),
}
