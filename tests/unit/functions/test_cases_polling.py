"""Cases of other projects about pollers and stores that are busy (B75), each input tried."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from taskgate.errors import Unavailable
from taskgate.ports import Ports
from tests.unit.functions.api_world import ApiWorld
from tests.unit.functions.ports_between import breaking, counting

POLLERS, ROUNDS = 200, 10


def test_two_hundred_pollers_cost_one_read_each_and_no_body_while_nothing_changes() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    path = f"/v1/tasks/{api.submitted()}/status"
    tag = api.get(path).headers["ETag"]
    calls.clear()
    answers = [api.get(path, headers={"If-None-Match": tag}) for _ in range(POLLERS * ROUNDS)]
    assert Counter((a.status, len(a.text)) for a in answers) == {(304, 0): POLLERS * ROUNDS}
    assert all(int(a.headers["Retry-After"]) >= 2 for a in answers)
    assert calls == ["tasks.get_with_pulse"] * POLLERS * ROUNDS


def test_two_hundred_pollers_of_an_ended_task_cost_one_read_in_all(tmp_path: Path) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    path = f"/v1/tasks/{api.submitted()}/status"
    api.succeed(api.claim(), tmp_path)
    calls.clear()
    assert {api.get(path).status for _ in range(POLLERS * ROUNDS)} == {200}
    assert calls == ["tasks.get_with_pulse"]


def test_pollers_read_only_so_the_beats_of_the_worker_meet_nobody() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    path = f"/v1/tasks/{api.submitted()}/status"
    held = api.claim()
    calls.clear()
    for n in range(50):
        assert api.get(path).status == 200
        assert api.worker.report(held, n / 50, "drawing") is None
    assert set(calls) == {"tasks.get_with_pulse"}


READS = {
    "": "get_with_pulse",
    "/status": "get_with_pulse",
    "/explain": "get_with_pulse",
    "/result": "get",
    "/callback": "get",
}


@pytest.mark.parametrize("part", READS)
def test_a_throttled_read_is_503_with_a_time_and_never_500(part: str) -> None:
    throttled = False

    def between(ports: Ports) -> Ports:
        return breaking("tasks", READS[part], Unavailable())(ports) if throttled else ports

    well = ApiWorld(between=between)
    task_id = well.submitted({"type": "text_to_image", "input": {"prompt": "x"}})
    throttled = True
    busy = ApiWorld(between=between)
    answer = busy.get(f"/v1/tasks/{task_id}{part}")
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "2")
