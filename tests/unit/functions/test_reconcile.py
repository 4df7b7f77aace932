"""One run of the hourly check: it tells what it found, and repairs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from functions.logs import json_logger
from taskgate.errors import Unavailable
from taskgate.events import measure
from taskgate.testing.memory.audit import MemoryAudit
from tests.unit.functions.api_world import ADA, ENVIRONMENT, ApiWorld, room_of

Run = Callable[[int], dict[str, Any]]


@pytest.fixture
def run(api: ApiWorld, environment: None) -> Run:
    from functions.reconcile import handler  # noqa: PLC0415 - it reads the environment

    json_logger("api")
    measure(ENVIRONMENT.labels)
    audit = MemoryAudit(api.world.tasks)
    room = room_of(api.world.ports)
    return lambda time_left: handler.run(room, audit, api.proofs, time_left)


def told(logged: StringIO) -> dict[str, Any]:
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return dict([line for line in lines if line["message"] == "reconciled"][-1])


def test_a_check_that_finds_nothing_publishes_0(api: ApiWorld, run: Run, logged: StringIO) -> None:
    for _ in range(30):
        api.submitted()
    assert run(840_000) == {"finished": True, "unaccounted": 0}
    line = told(logged)
    assert (line["TasksUnaccounted"], line["ReconcileRan"], line["tasks"]) == (0, 1, 30)


def test_a_drift_of_3_shows_as_3_and_is_left_for_a_person(
    api: ApiWorld, run: Run, logged: StringIO
) -> None:
    api.submitted()
    books = api.world.tasks.books[ADA.owner, 0]
    api.world.tasks.books[ADA.owner, 0] = replace(books, submitted=books.submitted + 3)
    for _ in range(2):
        assert run(840_000)["unaccounted"] == 3
    assert told(logged)["TasksUnaccounted"] == 3


def test_a_check_without_time_says_that_it_did_not_see_all(api: ApiWorld, run: Run) -> None:
    api.submitted()
    assert run(60_000)["finished"] is False


def test_a_check_that_broke_off_does_not_count_as_one_that_ran(
    api: ApiWorld, run: Run, logged: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable

    api.submitted()
    monkeypatch.setattr(MemoryAudit, "snapshot", fails)
    assert run(840_000)["finished"] is False
    assert "ReconcileRan" not in told(logged)


def test_what_a_run_found_is_kept_and_a_store_that_is_away_stops_no_run(
    api: ApiWorld, run: Run, logged: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable

    api.submitted()
    run(840_000)
    kept = api.proofs.read()
    assert kept.last is not None
    assert (kept.last.tasks, kept.begun_at) == (1, kept.last.began_at)
    for method in ("begun", "keep"):
        monkeypatch.setattr(api.proofs, method, fails)
    assert run(840_000) == {"finished": True, "unaccounted": 0}
    assert "proof_not_kept" in logged.getvalue()
