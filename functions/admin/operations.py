"""Each route of this room as its caller should understand it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.admin.acting_operations import ACTING
from functions.admin.key_operations import KEYS
from functions.admin.lists import DEFAULT_PAGE, MAX_PAGE
from functions.http.operation import JSON_BODY, READS, TASK_ID, Answered, Operation, Parameter
from functions.http.shapes import TEXT, one_of
from taskgate import errors
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.principal import NAME

NAMED: Final = {"type": "string", "pattern": f"^{NAME.pattern}$"}
PAGED: Final = (
    Parameter("tenant", "query", "Only of this tenant.", TEXT),
    Parameter("type", "query", "Only of this task type.", TEXT),
    Parameter(
        "limit",
        "query",
        "Tasks a page at most.",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
    ),
    Parameter("cursor", "query", "`next_cursor` of the page before, with the same filters.", TEXT),
)
OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/v1/admin/tasks"): Operation(
        name="listUnsettledTasks",
        scope="operator",
        summary="What is unsettled, over all tenants: tasks that live, and ended ones that owe something",
        about="Read from the index of the clocks, so it costs what is unsettled and not what is on record."
        " Live ones come first; within a shard of the index the one whose clock is due first. A page"
        " may be short or empty; `next_cursor` is null on the last one only.",
        parameters=(
            Parameter(
                "state",
                "query",
                "Only these: "
                + ", ".join(f"`{state}`" for state in State)
                + "; several with commas.",
                TEXT,
            ),
            *PAGED,
        ),
        answers={200: Answered("A page.", "UnsettledTasks")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/admin/tasks/{task_id}"): Operation(
        name="findTask",
        scope="admin",
        summary="Anybody's task, whole, with its tenant and user",
        about="Of your tenant, or as an operator of any; however long ago it ended. It is steered by the"
        " same routes as one's own: `/v1/tasks/{task_id}/cancel` and so on; the history then names your"
        " key.",
        parameters=(TASK_ID,),
        answers={200: Answered("The task.", "AdminTask")},
        refuses=(*READS, errors.TaskNotFound),
    ),
    ("GET", "/v1/admin/problems"): Operation(
        name="listProblems",
        scope="operator",
        summary="What failed or timed out on a day, over all tenants",
        about="Within a shard of the index the latest first. A page may be short or empty; `next_cursor`"
        " is null on the last one only. A task that got another life since is not among them.",
        parameters=(
            Parameter(
                "day",
                "query",
                "The UTC day, `YYYY-MM-DD`; today's without it.",
                {"type": "string", "format": "date"},
            ),
            Parameter(
                "code",
                "query",
                "Only with this error code.",
                one_of(ErrorCode),
            ),
            *PAGED,
        ),
        answers={200: Answered("A page.", "ProblemTasks")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/admin/ledgers/{tenant}/{user}"): Operation(
        name="getLedger",
        scope="admin",
        summary="A user's books, and which tasks are unfinished",
        parameters=(
            Parameter("tenant", "path", "The user's tenant.", NAMED, required=True),
            Parameter("user", "path", "The user.", NAMED, required=True),
        ),
        answers={200: Answered("The ledger.", "UserLedger")},
        refuses=(*READS, errors.LedgerNotFound),
    ),
    ("GET", "/v1/admin/receivers"): Operation(
        name="listReceivers",
        scope="admin",
        summary="Receivers of callbacks that show signs of illness",
        about="Of your tenant, or as an operator of all. Callbacks to one whose breaker is open are put off,"
        " not lost. A page may be short or empty; `next_cursor` is null on the last one only.",
        parameters=(Parameter("cursor", "query", "`next_cursor` of the page before.", TEXT),),
        answers={200: Answered("A page.", "Receivers")},
        refuses=(*READS, errors.BadCursor),
    ),
    **KEYS,
    **ACTING,
    ("GET", "/v1/admin/reconcile"): Operation(
        name="getReconcile",
        scope="operator",
        summary="What the last check of everything on record found",
        about="A function walks over all records each hour and proves each user's books and each task's"
        " clock. Here is what the last run that ended found, counted by kind, with the evidence of the"
        " first 100 differences.",
        answers={200: Answered("The record.", "Reconcile")},
        refuses=READS,
    ),
    ("POST", "/v1/admin/reconcile"): Operation(
        name="runReconcile",
        scope="operator",
        summary="Have the check run now",
        about="It looks and repairs nothing. It begins within seconds and takes up to 14 minutes; while one"
        " goes on or is asked for, no other is started, so it is safe to repeat.",
        body="AskReconcile",
        body_required=False,
        answers={202: Answered("The record; `state` says whether a run goes on.", "Reconcile")},
        refuses=(*JSON_BODY[1:], errors.MissingScope),
    ),
    ("GET", "/v1/admin/plans"): Operation(
        name="listPlans",
        scope="operator",
        summary="The plans with their limits",
        about="Those that are built in, as they were set if they were, and all others.",
        answers={200: Answered("The plans.", "Plans")},
        refuses=READS,
    ),
    ("PATCH", "/v1/admin/plans/{plan}"): Operation(
        name="setPlan",
        scope="operator",
        summary="Set limits of a plan while everything runs",
        about="What is not named stays as it is; a new plan starts as `free` is built in. A key that was"
        " just used may have the old limits for a minute.",
        parameters=(Parameter("plan", "path", "The plan's name.", NAMED, required=True),),
        body="SetPlan",
        answers={200: Answered("The plan as it is now.", "Plan")},
        refuses=(*JSON_BODY, errors.MissingScope, errors.NoPlanName, errors.PlanMoved),
    ),
}
