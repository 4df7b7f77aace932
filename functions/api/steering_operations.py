"""The routes by which people steer a task, as their caller should understand them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import JSON_BODY, TASK_ID, Answered, Operation, Problems
from taskgate import errors

REPEATS: Final = (
    " Safe to repeat within a minute: the same request by the same person, its first answer lost,"
    " is answered with the task as it is."
)
REFUSES: Final[Problems] = (
    *JSON_BODY[1:],
    errors.MissingScope,
    errors.TaskNotFound,
    errors.VerbNotAllowed,
)


def _verb(
    name: str,
    summary: str,
    about: str,
    *,
    body: str = "Reason",
    repeats: bool = True,
    more: Problems = (),
    scope: str = "tasks:write",
) -> Operation:
    """A verb that answers with the task as it then is."""
    needs_body = body != "Reason"
    return Operation(
        name=name,
        scope=scope,
        summary=summary,
        about=about + (REPEATS if repeats else ""),
        parameters=(TASK_ID,),
        body=body,
        body_required=needs_body,
        answers={200: Answered("Done: the task as it is now.", "TaskRecord")},
        refuses=(*((errors.EmptyBody,) if needs_body else ()), *REFUSES, *more),
    )


STEERING: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/tasks/{task_id}/cancel"): Operation(
        name="cancelTask",
        scope="tasks:write",
        summary="Cancel a task",
        about="Safe to repeat: a task that has ended is answered as it is, and `outcome` says"
        " `too_late` if it ended in another way. While a soft cancel is under way, a hard one stops"
        " the run after all; a soft one changes nothing of a hard one.",
        parameters=(TASK_ID,),
        body="Cancel",
        body_required=False,
        answers={
            200: Answered("It has ended: canceled, or earlier in its own way.", "Canceled"),
            202: Answered("Asked for; a worker must still stop.", "Canceled"),
        },
        refuses=(*JSON_BODY[1:], errors.MissingScope, errors.TaskNotFound, errors.TaskExpired),
    ),
    ("POST", "/v1/tasks/{task_id}/reschedule"): _verb(
        "rescheduleTask",
        "Move the start of a scheduled task",
        "Only while it is `scheduled`. A time that is not ahead sends it to its lane at once. Its"
        " whole-life limit counts from the new start.",
        body="Reschedule",
    ),
    ("POST", "/v1/tasks/{task_id}/priority"): _verb(
        "prioritizeTask",
        "Change the priority of a task that waits",
        "While it is `scheduled`, `created`, `queued`, `retrying` or `paused`: it moves to another"
        " lane and keeps the time that it has waited. Priority orders starts only. Your plan says"
        " which priorities you may use; an operator may give any.",
        body="Priority",
        more=(errors.PriorityNotAllowed,),
    ),
    ("POST", "/v1/tasks/{task_id}/extend"): _verb(
        "extendTask",
        "Give a run more time",
        "While it is `processing` or `stalled`. Each call adds its seconds, up to the type's"
        " `max_run` in all; a suspect counts as running again.",
        body="Extend",
        repeats=False,
    ),
    ("POST", "/v1/tasks/{task_id}/recover"): _verb(
        "recoverTask",
        "Run a stalled task again now",
        "Does not wait for the grace. It costs one of the `crashes` budget; without one left the"
        " task ends as failed.",
    ),
    ("POST", "/v1/tasks/{task_id}/fail"): _verb(
        "failTask",
        "End a stalled task as failed",
        "Without another try. Its worker, should it come back, is refused.",
    ),
    ("POST", "/v1/tasks/{task_id}/pause"): _verb(
        "pauseTask",
        "Hold a waiting task back (operators)",
        "While it is `created` or `queued`. Its deadline goes on.",
        scope="admin",
    ),
    ("POST", "/v1/tasks/{task_id}/resume"): _verb(
        "resumeTask",
        "Let a paused task go on (operators)",
        "It goes back into its lane.",
        scope="admin",
    ),
    ("POST", "/v1/tasks/{task_id}/retry"): _verb(
        "retryTask",
        "Give a failed or timed-out task another life",
        "The same id, the history kept, fresh budgets and a fresh deadline; `generation` goes up."
        " It counts as one more of your unfinished tasks.",
        more=(errors.TooManyPendingTasks, errors.TaskExpired),
    ),
}
