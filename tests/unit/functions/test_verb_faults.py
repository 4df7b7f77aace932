"""A verb with a fault at every call to a port in turn, before and after it took effect.

The caller does what the SDK does: a 503 is asked for again. The verb then is done once, and a task
that is to run again gets to a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State, Verb
from tests.unit.functions.api_world import ADA, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import Faulty


@dataclass(frozen=True)
class Case:
    verb: str
    entry: Verb
    prepare: Callable[[ApiWorld], str]
    wanted: State
    body: Any = None
    operator: bool = False


def _failed(api: ApiWorld) -> str:
    task_id = api.submitted()
    api.fail(api.claim(), ErrorCode.MODEL_ERROR)
    return task_id


def _paused(api: ApiWorld) -> str:
    task_id = api.submitted()
    api.post(f"/v1/tasks/{task_id}/pause", None, OPERATOR)
    return task_id


def _scheduled(api: ApiWorld) -> str:
    return api.submitted({**PROMPT, "delay": 3600})


CASES = (
    Case("recover", Verb.RESCUE, ApiWorld.stalled, State.QUEUED),
    Case("fail", Verb.FAIL, ApiWorld.stalled, State.FAILED),
    Case("pause", Verb.PAUSE, ApiWorld.submitted, State.PAUSED, operator=True),
    Case("resume", Verb.RESUME, _paused, State.QUEUED, operator=True),
    Case("retry", Verb.REOPEN, _failed, State.QUEUED),
    Case("reschedule", Verb.RESCHEDULE, _scheduled, State.QUEUED, {"delay": 0}),
    Case("priority", Verb.PRIORITIZE, ApiWorld.submitted, State.QUEUED, {"priority": "low"}),
    Case("cancel", Verb.CANCEL, ApiWorld.submitted, State.CANCELED),
)


def _world(case: Case) -> tuple[ApiWorld, Faulty, str]:
    faulty = Faulty()
    api = ApiWorld(between=faulty.between)
    return api, faulty, case.prepare(api)


def _asked(api: ApiWorld, case: Case, task_id: str) -> int:
    """The status, once it is not 503; as often as the SDK would ask."""
    who = OPERATOR if case.operator else ADA
    for _ in range(4):
        answer = api.post(f"/v1/tasks/{task_id}/{case.verb}", case.body, who)
        if answer.status != 503:
            return answer.status
        api.world.clock.advance(1)
    return 503


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.verb)
def test_a_verb_is_done_once_whatever_call_fails(case: Case, after: bool) -> None:
    api, faulty, task_id = _world(case)
    faulty.arm(-1, after=after)
    assert _asked(api, case, task_id) == 200
    points = len(faulty.calls)
    assert points >= 2
    for at in range(points):
        api, faulty, task_id = _world(case)
        faulty.arm(at, after=after)
        assert _asked(api, case, task_id) == 200, faulty.calls[at]
        faulty.arm(-1, after=False)
        task = api.tasks[task_id]
        assert task.state is case.wanted
        assert [e.verb for e in task.history].count(case.entry) == 1
        _runs_if_it_waits(api, task_id)


def _runs_if_it_waits(api: ApiWorld, task_id: str) -> None:
    if api.world.state(task_id) is not State.QUEUED:
        return
    api.world.clock.advance(31)
    api.sweep()
    assert api.claim().task.id == task_id
