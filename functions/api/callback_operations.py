"""The routes about callbacks, as their caller should understand them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import READS, TASK_ID, Answered, Operation
from taskgate import errors

CALLBACKS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/v1/tasks/{task_id}/callback"): Operation(
        name="getCallback",
        scope="tasks:read",
        summary="How the callback stands, with its latest attempts",
        parameters=(TASK_ID,),
        answers={200: Answered("The callback.", "TaskCallback")},
        refuses=(*READS, errors.TaskNotFound, errors.TaskExpired, errors.NoCallback),
    ),
    ("POST", "/v1/tasks/{task_id}/callback/redeliver"): Operation(
        name="redeliverCallback",
        scope="tasks:write",
        summary="Have the callback of an ended task sent once more",
        about="At once and with a fresh schedule: the same event, the same bytes, the same `webhook-id`."
        " Also for an end that is not among the events, and before the time of a next try. The history"
        " tells who asked.",
        parameters=(TASK_ID,),
        answers={202: Answered("It is to be sent.", "TaskCallback")},
        refuses=(
            *READS,
            errors.TaskNotFound,
            errors.TaskExpired,
            errors.NoCallback,
            errors.VerbNotAllowed,
            errors.RateLimited,
        ),
    ),
    ("GET", "/v1/webhook-secrets"): Operation(
        name="getWebhookSecrets",
        scope="tasks:write",
        summary="The secrets that sign your tenant's callbacks",
        about="One, or two while it is rotated: verify with all of them.",
        answers={200: Answered("The secrets.", "WebhookSecrets")},
        refuses=READS,
    ),
}
