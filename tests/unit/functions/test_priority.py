"""Another priority for a task that waits: `POST /v1/tasks/{task_id}/priority`."""

from __future__ import annotations

from dataclasses import replace

from taskgate.catalog import CATALOG
from taskgate.gateway.work.claiming import Released
from taskgate.gateway.work.worker import Held
from taskgate.lifecycle.states import State
from taskgate.plans import FREE
from taskgate.ports import Delivery
from tests.unit.functions.api_world import ADA, OPERATOR, PROMPT, ApiWorld

FREE_ADA = replace(ADA, plan=FREE)


def _received(api: ApiWorld, lane: str) -> Delivery:
    (delivery,) = api.world.lanes.receive(lane)
    return delivery


def test_a_moved_task_is_claimed_from_its_new_lane_and_its_old_message_is_dropped(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/priority", {"priority": "high", "reason": "a demo"})
    assert (answer.status, answer.json["state"]) == (200, "queued")
    last = answer.json["history"][-1]
    assert (last["verb"], last["actor"], last["reason"]) == ("prioritize", "user:ada", "a demo")
    old = api.worker.claim(_received(api, "gpu-normal"))
    assert old == Released("it was moved to the lane gpu-high")
    assert api.world.lanes.queues["gpu-normal"] == []
    held = api.worker.claim(_received(api, "gpu-high"))
    assert isinstance(held, Held)
    assert held.task.id == task_id
    assert held.task.budgets.crashes.spent == 0


def test_a_task_moved_there_and_back_runs_once(api: ApiWorld) -> None:
    task_id = api.submitted()
    for priority in ("low", "normal", "normal"):
        api.post(f"/v1/tasks/{task_id}/priority", {"priority": priority})
    assert api.claim().task.id == task_id
    others = [
        api.worker.claim(delivery)
        for lane in CATALOG.lanes()
        for delivery in api.world.lanes.receive(lane, most=10)
    ]
    assert others
    assert all(isinstance(other, Released) for other in others)


def test_a_move_keeps_the_time_that_the_task_has_waited(api: ApiWorld) -> None:
    task_id = api.submitted()
    ends_at = api.tasks[task_id].queue_ends_at
    api.world.clock.advance(600)
    api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low"})
    assert api.tasks[task_id].queue_ends_at == ends_at


def test_a_task_that_has_the_priority_already_is_left_as_it_is(api: ApiWorld) -> None:
    task_id = api.submitted()
    before, messages = api.tasks[task_id], api.world.lanes.total()
    answer = api.post(f"/v1/tasks/{task_id}/priority", {"priority": "normal"})
    assert answer.status == 200
    assert (api.tasks[task_id], api.world.lanes.total()) == (before, messages)


def test_the_plan_bounds_its_owner_and_not_an_operator(api: ApiWorld) -> None:
    task_id = api.submitted(caller=FREE_ADA)
    path, body = f"/v1/tasks/{task_id}/priority", {"priority": "high"}
    refused = api.post(path, body, FREE_ADA)
    assert (refused.status, refused.code) == (403, "priority_not_allowed")
    assert api.tasks[task_id].lane == "gpu-normal"
    assert api.post(path, body, OPERATOR).status == 200
    assert api.tasks[task_id].lane == "gpu-high"
    assert api.tasks[task_id].history[-1].actor.startswith("operator:")


def test_a_task_that_waits_for_its_time_or_is_held_back_goes_to_the_new_lane_then(
    api: ApiWorld,
) -> None:
    later = api.submitted({**PROMPT, "delay": 60})
    held_back = api.submitted()
    api.post(f"/v1/tasks/{held_back}/pause", None, OPERATOR)
    for task_id in (later, held_back):
        assert api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low"}).status == 200
    assert api.world.lanes.waiting("gpu-low") == 0
    api.post(f"/v1/tasks/{held_back}/resume", None, OPERATOR)
    api.world.clock.advance(61)
    api.sweep()
    assert {api.tasks[i].state for i in (later, held_back)} == {State.QUEUED}
    waiting = {d.message.task_id for d in api.world.lanes.receive("gpu-low", most=10)}
    assert waiting == {later, held_back}


def test_a_next_try_that_is_moved_comes_in_its_new_lane_and_not_before_its_time(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    api.worker.snooze(api.claim(), 60)
    due = api.tasks[task_id].not_before
    assert due is not None
    assert api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low"}).status == 200
    task = api.tasks[task_id]
    assert (task.state, task.lane, task.not_before) == (State.RETRYING, "gpu-low", due)
    assert api.world.lanes.waiting("gpu-low") == 0
    api.world.clock.advance(max(1, -(-(due - api.world.clock()) // 1000)))
    held = api.worker.claim(_received(api, "gpu-low"))
    assert isinstance(held, Held)


def test_a_move_in_the_very_moment_of_a_claim_is_refused_and_the_run_goes_on(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    held = api.claim()
    answer = api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low"})
    assert (answer.status, answer.code) == (409, "verb_not_allowed")
    assert api.tasks[task_id].lane == "gpu-normal"
    assert api.worker.beat(held, 0.5, "drawing") is None
