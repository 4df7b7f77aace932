"""The limits at the door: each refuses before anything is written, says why and when to come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import (
    LaneFull,
    PriorityNotAllowed,
    RateLimited,
    TooManyPendingTasks,
    Unavailable,
)
from taskgate.gateway.door.admitting import LaneDepths
from taskgate.gateway.door.scheduling import Start
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.plans import FREE, OPERATOR, UNPLANNED, Plan
from taskgate.ports import Message, Ports
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner, Task
from taskgate.testing.memory import MemoryWorld
from tests.unit.functions.api_world import ENVIRONMENT
from tests.unit.functions.ports_between import breaking, counting

PLAN = replace(OPERATOR, submits_per_minute=60, burst=2)
SMALL = replace(ENVIRONMENT, lane_limit=5)
LANE = "cpu-normal"


def _who(plan: Plan = PLAN, user: str = "ada", max_pending: int = 100) -> Principal:
    return Principal(Owner("acme", user), SCOPES, max_pending, "k", plan)


def _submit(
    ports: Ports,
    who: Principal,
    depths: LaneDepths | None = None,
    **fields: Any,
) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": "x"}, **fields)
    return submit(ports, CATALOG, SMALL, who, request, depths).task


def _fill(world: MemoryWorld, count: int) -> None:
    for number in range(count):
        world.lanes.send(LANE, Message(f"task_{number}", 0))


def test_a_user_who_submits_too_fast_is_told_when_to_come_back_and_is_taken_then() -> None:
    world = MemoryWorld()
    for _ in range(2):
        _submit(world.ports, _who())
    with pytest.raises(RateLimited) as refused:
        _submit(world.ports, _who())
    assert refused.value.retry_after == 1
    assert len(world.tasks.tasks) == 2
    world.clock.advance(refused.value.retry_after)
    _submit(world.ports, _who())


def test_one_users_haste_does_not_slow_a_colleague() -> None:
    world = MemoryWorld()
    for _ in range(2):
        _submit(world.ports, _who())
    _submit(world.ports, _who(user="bob"))
    assert len(world.tasks.tasks) == 3


def test_a_key_of_before_there_were_plans_has_no_rate() -> None:
    world = MemoryWorld()
    for _ in range(30):
        _submit(world.ports, _who(UNPLANNED), priority="high")
    assert len(world.tasks.tasks) == 30


def test_a_store_of_rates_that_is_away_lets_submits_in_and_the_books_still_hold() -> None:
    world = MemoryWorld()
    ports = breaking("rates", "admit", Unavailable())(world.ports)
    for _ in range(5):
        _submit(ports, _who(max_pending=5))
    with pytest.raises(TooManyPendingTasks):
        _submit(ports, _who(max_pending=5))


def test_a_priority_that_the_plan_lacks_is_refused_before_any_call() -> None:
    calls: list[str] = []
    ports = counting(calls)(MemoryWorld().ports)
    with pytest.raises(PriorityNotAllowed, match="low, normal"):
        _submit(ports, _who(FREE), priority="high")
    assert calls == []


def test_a_full_lane_takes_no_more_until_it_has_room_again() -> None:
    world, depths = MemoryWorld(), LaneDepths()
    _fill(world, 6)
    with pytest.raises(LaneFull, match="About 6 tasks wait in the lane cpu-normal"):
        _submit(world.ports, _who(), depths)
    assert world.tasks.tasks == {}
    _submit(world.ports, _who(), depths, priority="high")
    world.lanes.queues[LANE].clear()
    world.clock.advance(6)
    _submit(world.ports, _who(), depths)


def test_a_task_for_later_is_taken_though_the_lane_is_full_now() -> None:
    world = MemoryWorld()
    _fill(world, 6)
    before = len(world.tasks.tasks)
    _submit(world.ports, _who(), LaneDepths(), start=Start(delay=3600))
    assert len(world.tasks.tasks) == before + 1


def test_a_lane_is_counted_once_in_five_seconds_and_a_count_that_fails_is_no_refusal() -> None:
    world, depths, calls = MemoryWorld(), LaneDepths(), cast("list[str]", [])
    ports = counting(calls)(world.ports)
    for _ in range(5):
        _submit(ports, _who(UNPLANNED), depths)
    assert calls.count("lanes.waiting") == 1
    broken = breaking("lanes", "waiting", Unavailable())(world.ports)
    _fill(world, 6)
    _submit(broken, _who(UNPLANNED), LaneDepths())


def test_a_submit_is_four_calls_and_a_refused_one_no_more_than_it_took_to_know() -> None:
    calls: list[str] = []
    ports, depths = counting(calls)(MemoryWorld().ports), LaneDepths()
    _submit(ports, _who(), depths)
    calls.clear()
    _submit(ports, _who(), depths)
    assert calls == ["rates.admit", "tasks.create", "lanes.send", "tasks.apply"]
    calls.clear()
    with pytest.raises(RateLimited):
        _submit(ports, _who(), depths)
    assert calls == ["rates.admit"]
