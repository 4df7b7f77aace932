"""An estimate is what was measured, told within a bucket's width, or honestly unknown."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import Unavailable
from taskgate.gateway import switching
from taskgate.lifecycle.states import State
from taskgate.roster import Sign, WorkerState
from taskgate.spreads import LEAST, Spans, Spread, bucket_of
from taskgate.switches import Kind, Switch
from taskgate.testing.factories import task_in
from tests.unit.functions.api_world import ADA, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import breaking

RECORDED_WAITS = [1_000 * n for n in range(1, 101)]
RECORDED_RUNS = [20_000 + 1_000 * n for n in range(1, 101)]


def _told(api: ApiWorld, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/v1/tasks/{task_id}/explain").json
    return found


def _recorded(api: ApiWorld, waits: list[int], runs: list[int]) -> None:
    spans = Spans(Spread(Counter(map(bucket_of, waits))), Spread(Counter(map(bucket_of, runs))))
    api.world.spreads.add("text_to_image", "gpu-normal", spans)


@pytest.fixture(autouse=True)
def attended(api: ApiWorld) -> None:
    """A worker of the pool is there: without one, nobody can tell how long a task will wait."""
    at = api.world.clock()
    api.world.roster.join("gpu", "w1")
    idle = WorkerState.IDLE
    api.world.roster.report(
        Sign(worker="w1", pool="gpu", version="1", state=idle, started_at=at, beat_at=at)
    )


def test_of_recorded_samples_the_quantiles_are_right_within_the_buckets_width(
    api: ApiWorld,
) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    told = _told(api, api.submitted())
    for part, samples in (("wait", RECORDED_WAITS), ("run", RECORDED_RUNS)):
        found = told["estimate"][part]
        assert found["samples"] == 100
        for name, true in (("p50_seconds", samples[49]), ("p90_seconds", samples[89])):
            assert true / 1000 <= found[name] <= true / 1000 * math.sqrt(2) + 0.001
    assert "nine of ten" in told["sentences"][-1]


def test_without_enough_samples_it_is_said_to_be_unknown_and_no_number_is_made_up(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    assert _told(api, task_id)["estimate"] == {"wait": None, "run": None}
    assert "not known" in _told(api, task_id)["sentences"][-1]
    _recorded(api, RECORDED_WAITS[: LEAST - 1], RECORDED_RUNS[:LEAST])
    told = _told(api, task_id)["estimate"]
    assert told["wait"] is None
    assert told["run"]["samples"] == LEAST


def test_another_type_or_lane_says_nothing_of_this_one(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    low = api.submitted({"type": "text_to_image", "input": {"prompt": "x"}, "priority": "low"})
    other = api.submitted({"type": "embed_document", "input": {"text": "x"}})
    for task_id in (low, other):
        assert _told(api, task_id)["estimate"] == {"wait": None, "run": None}


def test_a_running_task_is_told_of_runs_only_and_an_ended_one_of_nothing(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    task_id = api.submitted()
    held = api.claim()
    told = _told(api, task_id)["estimate"]
    assert (told["wait"], told["run"]["samples"]) == (None, 100)
    api.fail(held)
    assert _told(api, task_id)["estimate"] is None


def _wait_is_told(api: ApiWorld, task_id: str) -> bool:
    told = _told(api, task_id)
    assert told["estimate"]["run"]["samples"] == 100
    said = " waited about " in told["sentences"][-1]
    assert said is (told["estimate"]["wait"] is not None)
    return said


def test_no_wait_is_estimated_while_an_operator_holds_the_lane_back(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    task_id = api.submitted()
    assert _wait_is_told(api, task_id)
    lane = Switch(kind=Kind.LANE, name="gpu-normal")
    switching.pause(api.world.ports, CATALOG, OPERATOR, lane, "we move")
    api.world.clock.advance(6)
    assert not _wait_is_told(api, task_id)


def test_no_wait_is_estimated_while_no_worker_of_the_pool_is_there(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    task_id = api.submitted()
    api.world.clock.advance(15 * 4 * 3 + 1)
    assert not _wait_is_told(api, task_id)


def test_no_wait_is_estimated_before_the_time_of_the_next_try(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    task_id = api.put(
        task_in(
            State.RETRYING,
            id="task_01ARZ3NDEKTSV4RRFFQ69G5FAZ",
            owner=ADA.owner,
            type="text_to_image",
            lane="gpu-normal",
            not_before=api.world.clock() + 30_000,
        )
    )
    assert not _wait_is_told(api, task_id)
    api.world.clock.advance(31)
    assert _wait_is_told(api, task_id)


def test_a_task_that_has_waited_longer_than_nearly_all_others_is_told_so(api: ApiWorld) -> None:
    _recorded(api, [1_000] * 100, RECORDED_RUNS)
    task_id = api.submitted()
    late = "It has waited longer than nine of ten did."
    assert late not in _told(api, task_id)["sentences"][-1]
    api.world.clock.advance(10)
    assert _told(api, task_id)["sentences"][-1].endswith(late)


def test_a_task_for_later_has_no_estimate_until_it_waits_in_its_lane(api: ApiWorld) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    task_id = api.submitted({**PROMPT, "delay": 60})
    assert _told(api, task_id)["estimate"] is None


def test_counts_that_cannot_be_read_leave_the_rest_of_the_story() -> None:
    api = ApiWorld(between=breaking("spreads", "lately", Unavailable()))
    told = _told(api, api.submitted())
    assert told["estimate"] == {"wait": None, "run": None}
    assert told["why"]


@pytest.mark.parametrize("days", [0, 1, 2])
def test_what_is_older_than_yesterday_counts_no_more(api: ApiWorld, days: int) -> None:
    _recorded(api, RECORDED_WAITS, RECORDED_RUNS)
    api.world.clock.advance(days * 86_400)
    assert (_told(api, api.submitted())["estimate"]["run"] is None) is (days == 2)
