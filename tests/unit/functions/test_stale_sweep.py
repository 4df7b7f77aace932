"""One tick of the sweep: it looks at all shards, says what it did, and stops in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.functions.api_world import ApiWorld, room_of

Run = Callable[[ApiWorld, int], dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, environment: None) -> Run:
    from functions.stale_sweep import handler  # noqa: PLC0415 - it reads the environment

    return lambda api, time_left: handler.run(room_of(api.world.ports), time_left)


def _metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (found,) = [line for line in lines if "_aws" in line]
    return dict(found)


def test_a_run_that_finds_nothing_says_that_it_ran(
    api: ApiWorld, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(api, 50_000) == {"finished": True}
    found = _metrics(capsys)
    assert (found["SweepRan"], found["TasksLookedAt"]) == ([1.0], [0.0])
    assert (found["stage"], found["service"]) == ("local", "stale-sweep")


def test_due_tasks_of_every_shard_are_looked_at(
    api: ApiWorld, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(40):
        api.submitted()
    api.world.clock.advance(200)
    assert run(api, 50_000)["finished"] is True
    found = _metrics(capsys)
    assert found["TasksLookedAt"] == [40.0]
    assert found["OldestOverdueSeconds"][0] >= 20


def test_a_run_without_time_leaves_the_rest_to_the_next(
    api: ApiWorld, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.submitted()
    api.world.clock.advance(200)
    assert run(api, 5_000) == {"finished": False}
    assert _metrics(capsys)["TasksLookedAt"] == [0.0]
