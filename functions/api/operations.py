"""Each route as its caller should understand it: what it takes, answers and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.api.callback_operations import CALLBACKS
from functions.api.fleet import FLEET
from functions.api.lists import DEFAULT_PAGE
from functions.api.steering_operations import STEERING
from functions.api.upload_operations import UPLOADS
from functions.http.operation import (
    JSON_BODY,
    READS,
    TASK_ID,
    Answered,
    Operation,
    Parameter,
)
from functions.http.shapes import TEXT, TIME
from taskgate import errors
from taskgate.gateway.views.listing import MAX_PAGE
from taskgate.gateway.views.reading import MAX_WAIT
from taskgate.lifecycle.states import State
from taskgate.tracing import MAX_STATE

WAIT: Final = {"type": "integer", "minimum": 0, "maximum": MAX_WAIT, "default": 0}
TRACE_CONTEXT: Final = (
    Parameter(
        "traceparent",
        "header",
        "W3C trace context: the task, its run, its follow-ups and its callback go on with this"
        " trace. A malformed one is ignored, and the task has a trace of its own.",
        TEXT,
    ),
    Parameter(
        "tracestate",
        "header",
        f"What tracing vendors add to it; {MAX_STATE} characters of it are carried.",
        TEXT,
    ),
)
_SUBMITTED: Final = ("Location", "Idempotent-Replayed", "Preference-Applied", "traceresponse")
OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    **STEERING,
    ("POST", "/v1/tasks"): Operation(
        name="submitTask",
        scope="tasks:write",
        summary="Submit a task",
        about="Once this answers, the task is on record and will end. With an `Idempotency-Key`"
        " the same request may be sent again for 24 hours and makes no second task.",
        parameters=(
            Parameter(
                "Idempotency-Key",
                "header",
                "1 to 255 visible ASCII characters. It stands for the whole request: the same key"
                " with another body is refused. Keys of different users never meet.",
                {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
            ),
            Parameter(
                "Prefer",
                "header",
                f"`wait=N`: hold the answer back until the task has ended, at most N seconds and"
                f" at most {MAX_WAIT}. It is accepted all the same when it has not.",
                TEXT,
            ),
            *TRACE_CONTEXT,
        ),
        body="Submit",
        answers={
            202: Answered(
                "Accepted, or a replay of a task that has not ended.",
                "TaskRecord",
                _SUBMITTED,
            ),
            200: Answered(
                "It has ended: a replay, or within the wait that was asked for.",
                "TaskRecord",
                _SUBMITTED,
            ),
        },
        refuses=(
            *JSON_BODY,
            errors.UnknownTaskType,
            errors.InvalidInput,
            errors.BadIdempotencyKey,
            errors.IdempotencyKeyReused,
            errors.PriorityNotAllowed,
            errors.RateLimited,
            errors.LaneFull,
            errors.IntakePaused,
            errors.TypePaused,
            errors.TooManyPendingTasks,
            errors.MissingScope,
        ),
    ),
    ("GET", "/v1/tasks"): Operation(
        name="listTasks",
        scope="tasks:read",
        summary="List your tasks, newest first",
        about="A page ends at `limit` tasks, or earlier when it would grow too large to answer, or"
        " when a filter has looked at many: it may be short or empty. `next_cursor` is null on the"
        " last page only. `metadata.NAME=TEXT` as a parameter lists the tasks that bear this label.",
        parameters=(
            Parameter(
                "limit",
                "query",
                "Tasks a page.",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
            ),
            Parameter(
                "cursor",
                "query",
                "`next_cursor` of the page before, with the same filters.",
                TEXT,
            ),
            Parameter(
                "state",
                "query",
                "Only these: "
                + ", ".join(f"`{state}`" for state in State)
                + "; several with commas.",
                TEXT,
            ),
            Parameter("type", "query", "Only this task type.", TEXT),
            Parameter("since", "query", "Only those created at or after this time.", TIME),
            Parameter("until", "query", "Only those created before this time.", TIME),
        ),
        answers={200: Answered("A page.", "TaskPage")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/tasks/{task_id}"): Operation(
        name="getTask",
        scope="tasks:read",
        summary="The whole task, with its history",
        parameters=(TASK_ID,),
        answers={200: Answered("The task.", "Task")},
        refuses=(*READS, errors.TaskNotFound, errors.TaskExpired),
    ),
    ("GET", "/v1/tasks/{task_id}/status"): Operation(
        name="getStatus",
        scope="tasks:read",
        summary="The light status, for polling",
        about="While the task lives, ask again after `Retry-After` seconds. Send the `ETag` back"
        " in `If-None-Match` and an unchanged status costs no body.",
        parameters=(
            TASK_ID,
            Parameter("If-None-Match", "header", "The last `ETag`.", TEXT),
            Parameter(
                "wait",
                "query",
                "Seconds to hold the answer back until the task has ended; with `If-None-Match`"
                " until the status differs from that one.",
                WAIT,
            ),
        ),
        answers={
            200: Answered("The status.", "Status", ("ETag", "Cache-Control", "Retry-After")),
            304: Answered("Nothing has changed.", None, ("ETag", "Cache-Control", "Retry-After")),
        },
        refuses=(*READS, errors.TaskNotFound, errors.TaskExpired),
    ),
    ("GET", "/v1/tasks/{task_id}/result"): Operation(
        name="getResult",
        scope="tasks:read",
        summary="The result: a redirect to a file, or all of it as links",
        about="A result without files answers with its output, as with `inline=true`.",
        parameters=(
            TASK_ID,
            Parameter("file", "query", "Which file; the first one by default.", TEXT),
            Parameter(
                "inline",
                "query",
                "`true` answers the manifest with signed links and the output.",
                {"type": "boolean", "default": False},
            ),
        ),
        answers={
            302: Answered("To the file, by a link good for 15 minutes.", None, ("Location",)),
            200: Answered("Manifest, links and output.", "Result"),
        },
        refuses=(
            *READS,
            errors.TaskNotFound,
            errors.TaskExpired,
            errors.ResultNotReady,
            errors.ResultExpired,
            errors.ResultFileNotFound,
        ),
    ),
    ("GET", "/v1/tasks/{task_id}/explain"): Operation(
        name="explainTask",
        scope="tasks:read",
        summary="Why it is in this state, what it waits for, when the gateway looks next",
        about="In plain sentences and as fields. Spans and counts are honest estimates: the"
        " gateway looks each minute, and a lane's count is the queue's own guess. An operator may"
        " ask about any task.",
        parameters=(TASK_ID,),
        answers={200: Answered("The explanation.", "Explanation")},
        refuses=(*READS, errors.TaskNotFound, errors.TaskExpired),
    ),
    **CALLBACKS,
    **UPLOADS,
    ("GET", "/v1/task-types"): Operation(
        name="listTaskTypes",
        summary="The task types, with the JSON Schema of each input",
        answers={200: Answered("What this deployment serves.", "TaskTypes")},
        refuses=(errors.InvalidRequest,),
    ),
    ("GET", "/v1/stats"): Operation(
        name="getStats",
        scope="tasks:read",
        summary="Your books",
        about="At any moment `submitted` is the sum of `active` and the four ended counts.",
        answers={200: Answered("The ledger.", "Stats")},
        refuses=READS,
    ),
    ("GET", "/v1/queues"): Operation(
        name="listQueues",
        scope="admin",
        summary="About how many wait in each lane, and what is paused (operators)",
        answers={200: Answered("The lanes.", "Queues")},
        refuses=READS,
    ),
    **FLEET,
    ("GET", "/openapi.json"): Operation(
        name="getOpenApi",
        summary="This document",
        answers={200: Answered("OpenAPI 3.1.", "OpenApi")},
    ),
    ("GET", "/docs"): Operation(
        name="getDocs",
        summary="This document as a page",
        answers={200: Answered("The page.", "Page", media="text/html")},
    ),
    ("GET", "/healthz"): Operation(
        name="getHealth",
        summary="Whether the API answers",
        answers={200: Answered("It does.", "Health")},
    ),
}
