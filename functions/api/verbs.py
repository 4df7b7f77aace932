"""What people may do to a task beside cancel. Each answers 200 with the task as it then is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aws_lambda_powertools.event_handler import Response

from functions.api.bodies import ExtendBody, PriorityBody, ReasonBody, RescheduleBody
from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer
from functions.http.asked import Asked
from taskgate.errors import IllegalTransition, VerbNotAllowed
from taskgate.gateway.door import prioritizing, scheduling
from taskgate.gateway.steer import operating
from taskgate.gateway.views.reading import visible
from taskgate.lifecycle.states import Verb
from taskgate.principal import Principal
from taskgate.task import Task

REPEAT_MS: Final = 60_000
"""The same act by the same person within this is a repeat whose first answer was lost."""

SameAct = Callable[[Task, int], bool]
"""Whether a task shows, by what was done to it at that moment (epoch ms), that just this was asked for."""


def any_act(task: Task, at: int) -> bool:
    """Of a verb that nothing is said with but why: all acts are the same."""
    del task, at
    return True


def reschedule(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/reschedule`: another start for a task that waits for its time."""
    asked.query()
    body = RescheduleBody.of(asked.body())
    return _done(
        desk,
        asked,
        Verb.RESCHEDULE,
        lambda who, i: scheduling.reschedule(desk.ports, who, i, body.start, body.reason),
        lambda task, at: body.start.means(task.run_at, at),
    )


def prioritize(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/priority`: another lane for a task that waits."""
    asked.query()
    body = PriorityBody.of(asked.body())
    return _done(
        desk,
        asked,
        Verb.PRIORITIZE,
        lambda who, i: prioritizing.prioritize(
            desk.ports, who, i, body.priority, body.reason, desk.switches
        ),
        lambda task, _: task.lane.endswith(f"-{body.priority}"),
    )


def extend(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/extend`: more time for the run, each time it is asked."""
    asked.query()
    body = ExtendBody.of(asked.body())
    task = operating.extend(desk.ports, asked.principal, asked.task_id, body.seconds, body.reason)
    return answer(views.record(task))


def recover(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/recover`: run a suspect again now, without waiting for the grace."""
    reason = _reason(asked)
    return _done(
        desk,
        asked,
        Verb.RESCUE,
        lambda who, i: operating.recover(desk.ports, who, i, reason),
    )


def fail(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/fail`: end a suspect."""
    reason = _reason(asked)
    return _done(desk, asked, Verb.FAIL, lambda who, i: operating.fail(desk.ports, who, i, reason))


def pause(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/pause`: hold a waiting task back. Operators only."""
    reason = _reason(asked)
    return _done(
        desk, asked, Verb.PAUSE, lambda who, i: operating.pause(desk.ports, who, i, reason)
    )


def resume(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/resume`: let a paused task go on. Operators only."""
    reason = _reason(asked)
    return _done(
        desk, asked, Verb.RESUME, lambda who, i: operating.resume(desk.ports, who, i, reason)
    )


def retry(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/tasks/{task_id}/retry`: another life for a task that failed or timed out."""
    reason = _reason(asked)
    return _done(
        desk,
        asked,
        Verb.REOPEN,
        lambda who, i: operating.reopen(desk.ports, desk.catalog, who, i, reason, desk.retention),
    )


def _reason(asked: Asked) -> str:
    asked.query()
    return ReasonBody.of(asked.optional_body()).reason


def _done(
    desk: Desk,
    asked: Asked,
    verb: Verb,
    act: Callable[[Principal, str], Task],
    same: SameAct = any_act,
) -> Response[str]:
    who, task_id = asked.principal, asked.task_id
    try:
        task = act(who, task_id)
    except (IllegalTransition, VerbNotAllowed):
        repeated = _repeated(desk, who, task_id, verb, same)
        if repeated is None:
            raise
        task = repeated
    return answer(views.record(task))


def _repeated(desk: Desk, who: Principal, task_id: str, verb: Verb, same: SameAct) -> Task | None:
    """The task, when this person's own earlier request has done what this one asks for."""
    task = visible(desk.ports.tasks.get(task_id), who)
    actor = who.actor_for(task.owner)
    own = [entry for entry in task.history if entry.actor == actor]
    recent = desk.ports.now() - REPEAT_MS
    done = bool(own) and own[-1].verb is verb and own[-1].at > recent
    return task if done and same(task, own[-1].at) else None
