"""Cases of other projects about idempotency keys (B84, B85, B87, B89, B90), each input tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.work.worker import Held
from taskgate.plans import OPERATOR
from taskgate.ports import Ports, Submission
from taskgate.testing.faults import Crash
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld
from tests.unit.functions.ports_between import Broken, Faulty, counting
from tests.unit.functions.test_round_trips import PROBED

KEY = {"Idempotency-Key": "k"}
PROBE = '{"type":"probe","input":{"g":1,"a":1,"b":1,"c":%s,"d":1,"e":1}}'


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_submit_that_was_killed_at_any_call_makes_one_task_however_soon_it_is_asked_again(
    after: bool,
) -> None:
    whole = Faulty(Crash)
    assert ApiWorld(between=whole.between).submit(key="k").status == 202
    assert whole.calls[:2] == ["switches.read_switches", "lanes.waiting"]
    for at in range(len(whole.calls)):
        mortal = Faulty(Crash, at, after)
        api = ApiWorld(between=mortal.between)
        with pytest.raises(Crash):
            api.submit(key="k")
        known = set(api.tasks)
        answers = [api.submit(key="k") for _ in range(3)]
        assert {answer.status for answer in answers} == {202}
        assert len({answer.json["id"] for answer in answers}) == len(api.tasks) == 1
        assert known <= set(api.tasks), "what is on record is found again"
        _runs_once(api)


def _runs_once(api: ApiWorld) -> None:
    """Whatever was sent by the tries and is sent by the sweep: one claim, and no second one."""
    api.world.clock.advance(31)
    api.sweep()
    held = api.claim()
    api.worker.succeed(held, [], "{}")
    lane = held.task.lane
    again = [api.worker.claim(d) for d in api.world.lanes.receive(lane, most=10)]
    assert not any(isinstance(claimed, Held) for claimed in again)
    assert api.world.lanes.total() == 0


def test_fifty_submits_with_one_key_one_after_the_other_are_one_task(api: ApiWorld) -> None:
    answers = [api.submit(key="k") for _ in range(50)]
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == len(api.tasks) == 1
    assert api.world.lanes.total() == 1


@pytest.mark.parametrize("verb", ["cancel", "pause", "retry", "recover", "fail", "extend"])
def test_the_key_of_a_submit_means_nothing_to_a_verb(api: ApiWorld, verb: str) -> None:
    """A verb is idempotent by itself; a key there neither replays a submit nor is used up."""
    task_id = api.submit(key="k").json["id"]
    asked = {"seconds": 60} if verb == "extend" else {}
    with_key = api.post(f"/v1/tasks/{task_id}/{verb}", asked, headers=KEY)
    assert "Idempotent-Replayed" not in with_key.headers
    assert api.submit(key="k").json["id"] == task_id
    assert api.submit({**PROMPT, "priority": "low"}, key="k").code == "idempotency_key_reused"


def test_a_cancel_with_the_key_of_a_submit_cancels_and_the_replay_then_says_so(
    api: ApiWorld,
) -> None:
    task_id = api.submit(key="k").json["id"]
    canceled = api.post(f"/v1/tasks/{task_id}/cancel", {}, headers=KEY)
    assert (canceled.status, canceled.json["state"]) == (200, "canceled")
    replayed = api.submit(key="k")
    assert (replayed.status, replayed.json["state"]) == (200, "canceled")
    assert replayed.headers["Idempotent-Replayed"] == "true"


def test_1_and_1_0_are_two_requests_and_blanks_are_none() -> None:
    api = ApiWorld(PROBED)
    first = api.submit(PROBE % "1", key="k")
    assert first.status == 202
    assert api.submit(PROBE % " 1 ", key="k").json["id"] == first.json["id"]
    assert api.submit(PROBE % "1.0", key="k").code == "idempotency_key_reused"


def _bad_body(api: ApiWorld) -> int:
    return api.submit({**PROMPT, "input": {}}, key="k").status


def _bad_json(api: ApiWorld) -> int:
    return api.submit("{", key="k").status


def _unknown_type(api: ApiWorld) -> int:
    return api.submit({**PROMPT, "type": "mine_bitcoin"}, key="k").status


def _no_scope(api: ApiWorld) -> int:
    return api.submit(caller=replace(ADA, scopes=frozenset({"tasks:read"})), key="k").status


def _no_room(api: ApiWorld) -> int:
    api.submit(caller=replace(ADA, max_pending=1))
    return api.submit(caller=replace(ADA, max_pending=1), key="k").status


def _too_fast(api: ApiWorld) -> int:
    hasty = replace(ADA, plan=replace(OPERATOR, submits_per_minute=1, burst=1))
    api.submit(caller=hasty)
    return api.submit(caller=hasty, key="k").status


REFUSED = {
    _bad_body: 422,
    _bad_json: 400,
    _unknown_type: 422,
    _no_scope: 403,
    _no_room: 429,
    _too_fast: 429,
}


@pytest.mark.parametrize(
    ("refuse", "status"), REFUSED.items(), ids=lambda part: getattr(part, "__name__", str(part))
)
def test_a_request_that_was_refused_leaves_its_key_unused(
    api: ApiWorld, refuse: Callable[[ApiWorld], int], status: int
) -> None:
    assert refuse(api) == status
    made = api.submit(key="k")
    assert made.status == 202
    assert "Idempotent-Replayed" not in made.headers


@pytest.mark.parametrize("error", [Unavailable(), RuntimeError("a bug")], ids=["503", "500"])
def test_an_error_of_ours_before_the_write_never_pins_the_key(error: Exception) -> None:
    broken = {"create"}

    def between(ports: Ports) -> Ports:
        return replace(ports, tasks=cast("Any", Broken(ports.tasks, broken, error)))

    api = ApiWorld(between=between)
    assert api.submit(key="k").status in {500, 503}
    broken.clear()
    made = api.submit(key="k")
    assert made.status == 202
    assert "Idempotent-Replayed" not in made.headers


def test_an_error_of_ours_after_the_write_is_answered_by_the_next_try_with_that_task() -> None:
    """Ambiguous: the answer to the write was lost, and the caller was told 503."""
    lost = [True]

    class Lossy:
        def __init__(self, port: Any) -> None:
            self.port = port

        def __getattr__(self, method: str) -> Any:
            return getattr(self.port, method)

        def create(self, submission: Submission) -> Any:
            made = self.port.create(submission)
            if lost.pop() if lost else False:
                raise Unavailable
            return made

    api = ApiWorld(between=lambda ports: replace(ports, tasks=cast("Any", Lossy(ports.tasks))))
    assert api.submit(key="k").status == 503
    (task_id,) = api.tasks
    again = api.submit(key="k")
    assert (again.status, again.json["id"]) == (202, task_id)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(api.tasks) == 1


@pytest.mark.parametrize("limited", [False, True], ids=["no rate", "a rate"])
def test_a_replay_is_two_calls_and_where_the_plan_has_a_rate_a_third_and_one_of_its_submits(
    limited: bool,
) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    plan = replace(OPERATOR, submits_per_minute=6 if limited else None, burst=2)
    caller = replace(ADA, plan=plan)
    first = api.submit(caller=caller, key="k")
    calls.clear()
    again = api.submit(caller=caller, key="k")
    assert again.json["id"] == first.json["id"]
    asked = [call for call in calls if call not in {"lanes.waiting", "switches.read_switches"}]
    assert asked == ["rates.admit"] * limited + ["tasks.create", "tasks.get"]
    third = api.submit(caller=caller, key="k")
    assert third.status == (429 if limited else 202)
    if limited:
        api.world.clock.advance(int(third.headers["Retry-After"]))
        assert api.submit(caller=caller, key="k").json["id"] == first.json["id"]
