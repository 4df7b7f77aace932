"""What people do to a task beside cancel: extend, recover, fail, pause, resume, retry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import RULES, State, Verb
from taskgate.testing.factories import task_in
from tests.unit.functions.api_world import ADA, OPERATOR, PROMPT, ApiWorld

OF_VERB = {
    "extend": Verb.EXTEND,
    "recover": Verb.RESCUE,
    "pause": Verb.PAUSE,
    "resume": Verb.RESUME,
    "retry": Verb.REOPEN,
    "reschedule": Verb.RESCHEDULE,
    "priority": Verb.PRIORITIZE,
}
BODIES = {"extend": {"seconds": 600}, "reschedule": {"delay": 60}, "priority": {"priority": "low"}}
IDEMPOTENT = {("pause", State.PAUSED), ("resume", State.QUEUED)}
ONLY_THE_WORKER = {("pause", State.PROCESSING), ("pause", State.STALLED)}
PAIRS = [(verb, state) for verb in OF_VERB for state in State]


@pytest.mark.parametrize(("verb", "state"), PAIRS)
def test_a_verb_in_any_state_is_done_or_refused_with_the_state_by_name(
    api: ApiWorld, verb: str, state: State
) -> None:
    task_id = api.put(_named(task_in(state, at=api.world.clock(), owner=ADA.owner)))
    known = state in RULES[OF_VERB[verb]].sources and (verb, state) not in ONLY_THE_WORKER
    done = known or (verb, state) in IDEMPOTENT
    who = OPERATOR if verb in {"pause", "resume"} else ADA
    answer = api.post(f"/v1/tasks/{task_id}/{verb}", BODIES.get(verb), who)
    if done:
        assert (answer.status, answer.json["id"]) == (200, task_id)
        return
    assert (answer.status, answer.code) == (409, "verb_not_allowed")
    assert answer.json["state"] == state
    assert state in answer.json["detail"]


def test_an_extension_gives_the_run_more_time_and_tells_the_worker(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    answer = api.post(f"/v1/tasks/{task_id}/extend", {"seconds": 600, "reason": "big picture"})
    assert answer.json["limits"]["run_timeout"] == 1800 + 600
    last = answer.json["history"][-1]
    assert (last["verb"], last["actor"], last["reason"]) == ("extend", "user:ada", "big picture")
    signal = api.worker.beat(held, 0.1, "drawing")
    assert signal is not None
    assert signal.kind == "deadline"


def test_a_run_with_the_longest_time_is_extended_no_further(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.claim()
    path = f"/v1/tasks/{task_id}/extend"
    assert api.post(path, {"seconds": 21_600}).json["limits"]["run_timeout"] == 21_600
    answer = api.post(path, {"seconds": 1})
    assert (answer.status, answer.code) == (409, "verb_not_allowed")
    assert "21600" in answer.json["detail"]


def test_a_suspect_that_is_extended_counts_as_running_again(api: ApiWorld) -> None:
    task_id = api.stalled()
    answer = api.post(f"/v1/tasks/{task_id}/extend", {"seconds": 60})
    assert answer.json["state"] == "processing"


def test_a_recovered_task_runs_again_without_waiting_for_the_grace(api: ApiWorld) -> None:
    task_id = api.stalled()
    answer = api.post(f"/v1/tasks/{task_id}/recover", {"reason": "the host is gone"})
    assert (answer.status, answer.json["state"]) == (200, "queued")
    assert answer.json["budgets"]["crashes"]["spent"] == 1
    assert api.claim().task.attempt == 2


def test_a_suspect_that_is_failed_by_hand_has_ended_and_its_worker_is_refused(
    api: ApiWorld,
) -> None:
    task_id = api.stalled()
    answer = api.post(f"/v1/tasks/{task_id}/fail", {"reason": "hopeless"})
    assert (answer.status, answer.json["state"]) == (200, "failed")
    assert answer.json["error"]["code"] == "heartbeat_lost"
    assert answer.json["history"][-1]["reason"] == "hopeless"


@pytest.mark.parametrize("state", [State.QUEUED, State.PROCESSING])
def test_only_a_suspect_can_be_failed_by_hand(api: ApiWorld, state: State) -> None:
    task_id = api.submitted()
    if state is State.PROCESSING:
        api.claim()
    answer = api.post(f"/v1/tasks/{task_id}/fail")
    assert (answer.status, answer.json["state"]) == (409, state)


def test_a_paused_task_waits_until_an_operator_resumes_it(api: ApiWorld) -> None:
    task_id = api.submitted()
    paused = api.post(f"/v1/tasks/{task_id}/pause", {"reason": "model update"}, OPERATOR)
    assert paused.json["state"] == "paused"
    assert paused.json["history"][-1]["actor"] == "operator:olga/k9"
    resumed = api.post(f"/v1/tasks/{task_id}/resume", None, OPERATOR)
    assert resumed.json["state"] == "queued"


def test_pausing_twice_is_pausing_once(api: ApiWorld) -> None:
    task_id = api.submitted()
    path = f"/v1/tasks/{task_id}/pause"
    assert api.post(path, None, OPERATOR).json == api.post(path, None, OPERATOR).json


def test_a_failed_task_gets_another_life_under_its_id_and_its_history_stays(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.fail(api.claim(), ErrorCode.MODEL_ERROR)
    answer = api.post(f"/v1/tasks/{task_id}/retry", {"reason": "model fixed"})
    task = answer.json
    assert (answer.status, task["state"], task["generation"]) == (200, "queued", 1)
    assert (task["error"], task["budgets"]["retries"]["spent"]) == (None, 0)
    assert [h["verb"] for h in task["history"]][-2:] == ["fail", "reopen"]
    assert api.claim().task.attempt == 2
    assert api.get("/v1/stats").json["active"] == 1


@pytest.mark.parametrize("verb", ["recover", "fail", "retry", "resume"])
def test_the_same_verb_again_whose_answer_was_lost_is_answered_with_the_task(
    api: ApiWorld, verb: str
) -> None:
    task_id = api.stalled() if verb in {"recover", "fail"} else api.submitted()
    who = OPERATOR if verb == "resume" else ADA
    if verb == "retry":
        api.fail(api.claim(), ErrorCode.MODEL_ERROR)
    if verb == "resume":
        api.post(f"/v1/tasks/{task_id}/pause", None, who)
    first = api.post(f"/v1/tasks/{task_id}/{verb}", None, who)
    version = api.tasks[task_id].version
    assert api.post(f"/v1/tasks/{task_id}/{verb}", None, who) == first
    assert api.tasks[task_id].version == version


def test_a_verb_that_somebody_else_did_before_is_no_repeat(api: ApiWorld) -> None:
    task_id = api.stalled()
    assert api.post(f"/v1/tasks/{task_id}/recover", None, OPERATOR).status == 200
    assert api.post(f"/v1/tasks/{task_id}/recover").code == "verb_not_allowed"


def test_a_verb_asked_for_again_much_later_is_no_repeat(api: ApiWorld) -> None:
    task_id = api.stalled()
    api.post(f"/v1/tasks/{task_id}/recover")
    api.world.clock.advance(61)
    assert api.post(f"/v1/tasks/{task_id}/recover").code == "verb_not_allowed"


def test_another_time_for_a_task_that_has_started_is_refused_though_it_was_just_moved(
    api: ApiWorld,
) -> None:
    """A repeat is the same request, not the same verb: what was not done must not be answered 200."""
    task_id = api.submitted({**PROMPT, "delay": 3600})
    path = f"/v1/tasks/{task_id}/reschedule"
    first = api.post(path, {"delay": 0})
    assert first.json["state"] == "queued"
    assert api.post(path, {"delay": 0}) == first
    for other in ({"delay": 7200}, {"run_at": "2026-10-01T09:00:00Z"}):
        refused = api.post(path, other)
        assert (refused.status, refused.code) == (409, "verb_not_allowed")


def test_the_same_time_again_whose_answer_was_lost_is_answered_with_the_task(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": 3600})
    path, past = f"/v1/tasks/{task_id}/reschedule", {"run_at": "2026-09-21T14:00:00+02:00"}
    first = api.post(path, past)
    api.world.clock.advance(20)
    assert api.post(path, past) == first


def test_another_priority_for_a_task_that_has_started_is_refused_though_it_was_just_changed(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    path = f"/v1/tasks/{task_id}/priority"
    assert api.post(path, {"priority": "low"}).status == 200
    api.claim()
    assert api.post(path, {"priority": "low"}).status == 200
    assert api.post(path, {"priority": "normal"}).code == "verb_not_allowed"


def _named(task):
    """Of the shape that the API takes for an id."""
    return replace(task, id="task_01ARZ3NDEKTSV4RRFFQ69G5FAZ")
