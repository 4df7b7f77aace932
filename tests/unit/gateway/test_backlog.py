"""What there is to do is told of each minute, for each pool, as far as it is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate import events
from taskgate.catalog import CATALOG
from taskgate.errors import Unavailable
from taskgate.gateway.views.backlog import pools, tell_backlog
from taskgate.metrics import labels, measured
from taskgate.ports import Depth, Message
from taskgate.testing.memory import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(
        events.LOG, "log", lambda _level, _format, text: found.append(events.json.loads(text))
    )
    return found


def put(world: MemoryWorld, *lanes: str) -> None:
    for number, lane in enumerate(lanes):
        world.ports.lanes.send(lane, Message(f"task_{number}", 0))


def test_the_pools_are_those_of_the_lanes_that_a_room_knows() -> None:
    assert pools(CATALOG.lanes()) == list(CATALOG.pools)


def test_an_empty_pool_is_told_of_too(world: MemoryWorld, told: list[dict[str, Any]]) -> None:
    tell_backlog(world.ports, ["cpu", "gpu"])
    assert [(e["pool"], e["backlog"], e["unattended"]) for e in told] == [
        ("cpu", 0, 0),
        ("gpu", 0, 0),
    ]


def test_what_waits_and_what_runs_is_one_backlog_over_all_lanes_of_a_pool(
    world: MemoryWorld, told: list[dict[str, Any]]
) -> None:
    put(world, "gpu-high", "gpu-normal", "gpu-normal", "gpu-low", "cpu-low")
    world.ports.lanes.receive("gpu-normal")
    tell_backlog(world.ports, ["gpu"])
    [found] = told
    assert (found["backlog"], found["waiting"], found["unattended"]) == (4, 3, 0)


def test_work_that_waits_while_nobody_holds_any_is_unattended(
    world: MemoryWorld, told: list[dict[str, Any]]
) -> None:
    put(world, "gpu-normal", "gpu-low")
    tell_backlog(world.ports, ["gpu"])
    assert told[0]["unattended"] == 2


def test_a_message_that_is_due_later_is_no_work_yet(
    world: MemoryWorld, told: list[dict[str, Any]]
) -> None:
    world.ports.lanes.send("gpu-normal", Message("task_1", 0), delay=60)
    tell_backlog(world.ports, ["gpu"])
    assert told[0]["backlog"] == 0


def test_a_queue_service_that_is_away_makes_no_number_up_and_hides_no_other_pool(
    world: MemoryWorld, told: list[dict[str, Any]]
) -> None:
    lanes = world.ports.lanes

    class Half:
        def depth(self, lane: str) -> Depth:
            if lane == "cpu-low":
                raise Unavailable("away")
            return lanes.depth(lane)

    tell_backlog(replace(world.ports, lanes=Half()), ["cpu", "gpu"])  # type: ignore[arg-type]
    assert [(e["event"], e["pool"]) for e in told] == [
        ("backlog_unknown", "cpu"),
        ("backlog", "gpu"),
    ]


def test_the_backlog_is_a_metric_of_its_pool() -> None:
    line = measured(
        {"event": "backlog", "pool": "gpu", "backlog": 3, "waiting": 1, "unattended": 0},
        labels("prod", "c0"),
    )
    assert (line["pool_backlog"], line["pool_waiting"], line["pool_unattended"]) == (3, 1, 0)
    assert ["stage", "cell", "pool"] in line["_aws"]["CloudWatchMetrics"][0]["Dimensions"]
