"""Each route as its caller should understand it: what it takes, answers and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from functions.api import problems
from functions.api.schemas import ID, TEXT, Schema
from functions.api.tasks import DEFAULT_PAGE
from taskgate import errors
from taskgate.errors import Problem
from taskgate.gateway.reading import MAX_PAGE

Problems = tuple[type[Problem], ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter or a header."""

    name: str
    place: str
    about: str
    schema: Schema
    required: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """One kind of success: its schema's name, or None when there is no body."""

    about: str
    schema: str | None = None
    headers: tuple[str, ...] = ()
    media: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one route does."""

    name: str
    summary: str
    answers: Mapping[int, Answered]
    about: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    body_required: bool = True
    refuses: Problems = field(default=())


TASK_ID: Final = Parameter("task_id", "path", "The task's id.", ID, required=True)
ALWAYS: Final[Problems] = (
    errors.Unauthenticated,
    errors.ExpiredKey,
    problems.InternalError,
    problems.TryAgain,
)
"""What every route behind a key may answer."""
READS: Final[Problems] = (errors.MissingScope, errors.InvalidRequest)
JSON_BODY: Final[Problems] = (
    errors.EmptyBody,
    errors.MalformedJson,
    errors.DuplicateKey,
    errors.LoneSurrogate,
    errors.NestedTooDeep,
    errors.BodyTooLarge,
    errors.NotAnObject,
    errors.InexactNumber,
    errors.InvalidRequest,
)

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/tasks"): Operation(
        name="submitTask",
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
        ),
        body="Submit",
        answers={
            202: Answered(
                "Accepted, or a replay of a task that has not ended.",
                "TaskRecord",
                ("Location", "Idempotent-Replayed"),
            ),
            200: Answered(
                "A replay; its task has ended.", "TaskRecord", ("Location", "Idempotent-Replayed")
            ),
        },
        refuses=(
            *JSON_BODY,
            errors.UnknownTaskType,
            errors.InvalidInput,
            errors.BadIdempotencyKey,
            errors.IdempotencyKeyReused,
            errors.TooManyPendingTasks,
            errors.MissingScope,
        ),
    ),
    ("GET", "/v1/tasks"): Operation(
        name="listTasks",
        summary="List your tasks, newest first",
        about="A page ends at `limit` tasks, or earlier when it would grow too large to answer."
        " `next_cursor` is null on the last page only.",
        parameters=(
            Parameter(
                "limit",
                "query",
                "Tasks a page.",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
            ),
            Parameter("cursor", "query", "`next_cursor` of the page before.", TEXT),
        ),
        answers={200: Answered("A page.", "TaskPage")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/tasks/{task_id}"): Operation(
        name="getTask",
        summary="The whole task, with its history",
        parameters=(TASK_ID,),
        answers={200: Answered("The task.", "Task")},
        refuses=(*READS, errors.TaskNotFound),
    ),
    ("GET", "/v1/tasks/{task_id}/status"): Operation(
        name="getStatus",
        summary="The light status, for polling",
        about="While the task lives, ask again after `Retry-After` seconds. Send the `ETag` back"
        " in `If-None-Match` and an unchanged status costs no body.",
        parameters=(
            TASK_ID,
            Parameter("If-None-Match", "header", "The last `ETag`.", TEXT),
        ),
        answers={
            200: Answered("The status.", "Status", ("ETag", "Cache-Control", "Retry-After")),
            304: Answered("Nothing has changed.", None, ("ETag", "Cache-Control", "Retry-After")),
        },
        refuses=(*READS, errors.TaskNotFound),
    ),
    ("GET", "/v1/tasks/{task_id}/result"): Operation(
        name="getResult",
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
        refuses=(*READS, errors.TaskNotFound, errors.ResultNotReady, errors.ResultFileNotFound),
    ),
    ("POST", "/v1/tasks/{task_id}/cancel"): Operation(
        name="cancelTask",
        summary="Cancel a task",
        about="Safe to repeat: a task that has ended is answered as it is.",
        parameters=(TASK_ID,),
        body="Cancel",
        body_required=False,
        answers={
            200: Answered("It has ended: canceled, or earlier in its own way.", "TaskRecord"),
            202: Answered("Asked for; a worker must still stop.", "TaskRecord"),
        },
        refuses=(*JSON_BODY[1:], errors.MissingScope, errors.TaskNotFound),
    ),
    ("GET", "/v1/task-types"): Operation(
        name="listTaskTypes",
        summary="The task types, with the JSON Schema of each input",
        answers={200: Answered("What this deployment serves.", "TaskTypes")},
        refuses=(errors.InvalidRequest,),
    ),
    ("GET", "/v1/stats"): Operation(
        name="getStats",
        summary="Your books",
        about="At any moment `submitted` is the sum of `active` and the four ended counts.",
        answers={200: Answered("The ledger.", "Stats")},
        refuses=READS,
    ),
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
