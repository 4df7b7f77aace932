"""One tick of the sweep: it looks at all shards, says what it did, and stops in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from functions.logs import json_logger
from taskgate.bulks import BulkAct, Wanted
from taskgate.events import measure
from taskgate.gateway.office import bulk
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ENVIRONMENT, ApiWorld, room_of

Run = Callable[[ApiWorld, int], dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, environment: None) -> Run:
    from functions.stale_sweep import handler  # noqa: PLC0415 - it reads the environment

    return lambda api, time_left: handler.run(room_of(api.world.ports), time_left)


@pytest.fixture
def told(logged: StringIO, run: Run) -> Callable[[], dict[str, Any]]:
    """What the last run told, with its metrics."""
    json_logger("api")  # the room's cold start has taken the events to a logger of its own
    measure(ENVIRONMENT.labels)

    def found() -> dict[str, Any]:
        lines = [json.loads(line) for line in logged.getvalue().splitlines()]
        return dict([line for line in lines if line["message"] == "swept"][-1])

    return found


def test_a_run_that_finds_nothing_says_that_it_ran(
    api: ApiWorld, run: Run, told: Callable[[], dict[str, Any]]
) -> None:
    assert run(api, 50_000) == {"finished": True}
    found = told()
    assert (found["SweepRan"], found["TasksLookedAt"], found["task_stuck_alert"]) == (1, 0, 0)
    (directive,) = found["_aws"]["CloudWatchMetrics"]
    assert (found["stage"], directive["Dimensions"]) == ("local", [["stage", "cell"]])


def test_due_tasks_of_every_shard_are_looked_at(
    api: ApiWorld, run: Run, told: Callable[[], dict[str, Any]]
) -> None:
    for _ in range(40):
        api.submitted()
    api.world.clock.advance(200)
    assert run(api, 50_000)["finished"] is True
    found = told()
    assert found["TasksLookedAt"] == 40
    assert found["OldestOverdueSeconds"] >= 20


def test_a_run_without_time_leaves_the_rest_to_the_next(
    api: ApiWorld, run: Run, told: Callable[[], dict[str, Any]]
) -> None:
    api.submitted()
    api.world.clock.advance(200)
    assert run(api, 5_000) == {"finished": False}
    assert told()["TasksLookedAt"] == 0


def test_bulk_acts_are_worked_on_in_the_time_that_the_sweep_leaves(
    api: ApiWorld, run: Run, told: Callable[[], dict[str, Any]]
) -> None:
    task_id = api.submitted()
    api.world.clock.advance(1)
    ports = api.world.ports
    who = Principal(Owner("taskgate", "olga"), SCOPES, 1, "aws")
    dry = bulk.plan(ports, who, BulkAct.CANCEL, Wanted(tenant="acme"), "a flood", 16)
    bulk.confirm(ports, who, dry.bulk.id, dry.token)
    assert run(api, 5_000).get("bulk") is None
    assert run(api, 50_000)["bulk"] == 1
    assert api.world.state(task_id) is State.CANCELED
    assert told()["SweepRan"] == 1
