"""Who works: counts to everybody, each worker to operators of all tenants, and to nobody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate.principal import SCOPES
from taskgate.roster import BEATS_A_SIGN, KEPT_SECONDS, SIGNS_MISSED, Sign, WorkerState
from tests.unit.functions.api_world import ADA, ENVIRONMENT, EVE, OPERATOR, ApiWorld
from tests.unit.functions.ports_between import counting

SIGN = Sign(
    worker="host-1-ab",
    pool="gpu",
    version="0.1.0",
    state=WorkerState.BUSY,
    started_at=0,
    beat_at=0,
    task_id="task_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    task_type="text_to_image",
    attempt=2,
    gpu="NVIDIA A10G",
    gpu_memory_mib=23_028,
)
IDLE = replace(SIGN, worker="host-2-cd", state=WorkerState.IDLE, task_id=None, gpu=None)
LOST_AFTER = ENVIRONMENT.beat * BEATS_A_SIGN * SIGNS_MISSED


def _on_the_roster(api: ApiWorld, *signs: Sign) -> None:
    for sign in signs:
        api.world.roster.report(
            replace(sign, started_at=api.world.clock(), beat_at=api.world.clock())
        )
        api.world.roster.join(sign.pool, sign.worker)


def _counts(api: ApiWorld, pool: str) -> dict[str, int]:
    pools = {p.pop("pool"): p for p in api.get("/v1/workers").json["pools"]}
    found: dict[str, int] = pools[pool]
    return found


def test_an_operator_sees_each_worker_and_what_it_runs(api: ApiWorld) -> None:
    _on_the_roster(api, SIGN, IDLE)
    busy, idle = api.get("/v1/workers", OPERATOR).json["workers"]
    assert busy["task"] == {"id": SIGN.task_id, "type": "text_to_image", "attempt": 2}
    assert busy["gpu"] == {"model": "NVIDIA A10G", "memory_mib": 23_028}
    assert (busy["state"], busy["version"]) == ("busy", "0.1.0")
    assert (idle["id"], idle["state"], idle["task"], idle["gpu"]) == (
        "host-2-cd",
        "idle",
        None,
        None,
    )


@pytest.mark.parametrize("caller", [ADA, EVE, replace(ADA, scopes=SCOPES - {"operator"})])
def test_anybody_else_sees_how_many_there_are_and_no_task_of_another(
    api: ApiWorld, caller: Any
) -> None:
    _on_the_roster(api, SIGN, IDLE)
    answer = api.get("/v1/workers", caller)
    assert answer.json["workers"] is None
    assert SIGN.task_id is not None
    assert SIGN.task_id not in answer.text
    assert SIGN.worker not in answer.text
    assert _counts(api, "gpu") == {"idle": 1, "busy": 1, "draining": 0, "lost": 0}


def test_a_pool_without_workers_is_told_as_such(api: ApiWorld) -> None:
    pools = api.get("/v1/workers").json["pools"]
    assert {p["pool"] for p in pools} == {"cpu", "gpu"}
    assert all(p["idle"] == p["busy"] == p["draining"] == p["lost"] == 0 for p in pools)


def test_a_worker_that_missed_several_signs_is_lost_and_later_not_told_of(api: ApiWorld) -> None:
    _on_the_roster(api, SIGN)
    api.world.clock.advance(LOST_AFTER)
    assert _counts(api, "gpu")["busy"] == 1
    api.world.clock.advance(1)
    assert _counts(api, "gpu") == {"idle": 0, "busy": 0, "draining": 0, "lost": 1}
    (worker,) = api.get("/v1/workers", OPERATOR).json["workers"]
    assert (worker["state"], worker["task"]["id"]) == ("lost", SIGN.task_id)
    api.world.clock.advance(KEPT_SECONDS)
    assert _counts(api, "gpu")["lost"] == 0


def test_reading_takes_the_scope_and_one_look_at_the_roster() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    assert api.get("/v1/workers", replace(ADA, scopes=frozenset({"tasks:write"}))).status == 403
    assert not calls
    assert api.get("/v1/workers").status == 200
    assert calls == ["roster.present"]
