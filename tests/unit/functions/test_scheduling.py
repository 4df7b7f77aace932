"""Tasks that start at a time: nothing is in their lane before, and the sweep brings them there."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from tests.unit.functions.api_world import OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting
from tests.unit.functions.schema_fits import assert_fits

HOUR = 3600
START = "2026-09-21T15:13:20.000Z"
"""An hour after the tests' clock starts."""


@pytest.mark.parametrize(
    "when",
    [
        {"delay": HOUR},
        {"run_at": START},
        {"run_at": "2026-09-21T17:13:20+02:00"},
        {"run_at": "2026-09-21t15:13:20.0z"},
    ],
    ids=str,
)
def test_a_task_for_later_is_scheduled_and_sends_nothing(when: dict[str, object]) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    api.get("/v1/queues", OPERATOR)  # now the switches are known for a while
    calls.clear()
    answer = api.submit({**PROMPT, **when})
    assert (answer.status, answer.json["state"]) == (202, "scheduled")
    assert answer.json["run_at"] == START
    assert calls == ["tasks.create"]
    assert not api.world.lanes.total()


@pytest.mark.parametrize("when", [{"delay": 0}, {"run_at": "2020-01-01T00:00:00Z"}], ids=str)
def test_a_time_that_is_past_means_now(api: ApiWorld, when: dict[str, object]) -> None:
    answer = api.submit({**PROMPT, **when})
    assert (answer.json["state"], answer.json["run_at"]) == ("queued", None)


def test_the_sweep_wakes_a_scheduled_task_when_its_time_has_come_and_not_before(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted({**PROMPT, "delay": HOUR})
    api.world.clock.advance(HOUR - 1)
    api.sweep()
    assert api.world.state(task_id) is State.SCHEDULED
    api.world.clock.advance(1)
    api.sweep()
    assert api.world.state(task_id) is State.QUEUED
    assert api.succeed(api.claim(), tmp_path).state is State.SUCCEEDED
    assert api.get("/v1/stats").json["mean_wait_seconds"] == 0


def test_a_worker_that_is_quicker_than_the_sweep_keeps_the_message_of_a_woken_task(
    api: ApiWorld,
) -> None:
    task_id = api.submitted({**PROMPT, "delay": 60})
    seen = []
    send = api.world.lanes.send

    def quick(*arguments: object) -> None:
        seen.append(api.world.state(task_id))
        send(*arguments)  # type: ignore[arg-type]

    api.world.lanes.send = quick  # type: ignore[assignment]
    api.world.clock.advance(60)
    api.sweep()
    assert seen == [State.QUEUED]


def test_the_deadline_counts_from_the_start(api: ApiWorld) -> None:
    at_once = api.submit().json["deadline_at"]
    later = api.submit({**PROMPT, "delay": 89 * 86_400}).json["deadline_at"]
    assert (at_once, later) == ("2026-09-22T14:13:20.000Z", "2026-12-20T14:13:20.000Z")


def test_waiting_for_its_time_is_not_waiting_in_the_lane(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": HOUR, "timeouts": {"queue_seconds": 120}})
    api.world.clock.advance(HOUR)
    api.sweep()
    api.world.clock.advance(119)
    api.sweep()
    assert api.world.state(task_id) is State.QUEUED
    api.world.clock.advance(1)
    api.sweep()
    error = api.tasks[task_id].error
    assert error is not None
    assert error.code is ErrorCode.QUEUE_TIMEOUT


def test_a_scheduled_task_can_be_canceled_before_it_starts(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": HOUR})
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status, answer.json["state"]) == (200, "canceled")
    api.world.clock.advance(2 * HOUR)
    api.sweep()
    assert not api.world.lanes.total()


def test_a_task_is_moved_to_another_time_and_its_clock_moves_along(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": HOUR})
    answer = api.post(f"/v1/tasks/{task_id}/reschedule", {"delay": 2 * HOUR, "reason": "later"})
    assert (answer.status, answer.json["state"]) == (200, "scheduled")
    assert answer.json["run_at"] == "2026-09-21T16:13:20.000Z"
    assert answer.json["deadline_at"] == "2026-09-22T16:13:20.000Z"
    last = answer.json["history"][-1]
    assert (last["verb"], last["from"], last["to"]) == ("reschedule", "scheduled", "scheduled")
    api.world.clock.advance(HOUR)
    api.sweep()
    assert api.world.state(task_id) is State.SCHEDULED
    api.world.clock.advance(HOUR)
    api.sweep()
    assert api.world.state(task_id) is State.QUEUED


def test_a_task_moved_to_now_goes_to_its_lane_at_once(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": HOUR})
    answer = api.post(f"/v1/tasks/{task_id}/reschedule", {"run_at": "2020-01-01T00:00:00Z"})
    assert answer.json["state"] == "queued"
    assert api.claim().task.id == task_id


def test_a_reschedule_that_the_sweep_was_quicker_than_is_refused_and_the_task_runs(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = api.submitted({**PROMPT, "delay": 60})
    api.world.clock.advance(60)
    read = api.world.tasks.get

    def read_then_swept(wanted: str) -> object:
        monkeypatch.undo()
        found = read(wanted)
        api.sweep()
        return found

    monkeypatch.setattr(api.world.tasks, "get", read_then_swept)
    answer = api.post(f"/v1/tasks/{task_id}/reschedule", {"delay": 3600})
    assert (answer.status, answer.json["state"]) == (409, "queued")
    assert api.claim().task.id == task_id


def test_a_sweep_that_read_a_task_before_it_was_moved_does_not_wake_it(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = api.submitted({**PROMPT, "delay": 60})
    api.world.clock.advance(60)
    read = api.world.tasks.get_with_pulse

    def read_then_moved(wanted: str) -> object:
        monkeypatch.undo()
        found = read(wanted)
        api.post(f"/v1/tasks/{task_id}/reschedule", {"delay": 3600})
        return found

    monkeypatch.setattr(api.world.tasks, "get_with_pulse", read_then_moved)
    api.sweep()
    assert api.world.state(task_id) is State.SCHEDULED
    assert not api.world.lanes.total()


def test_a_task_that_waits_for_a_worker_is_rescheduled_no_more(api: ApiWorld) -> None:
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/reschedule", {"delay": 60})
    assert (answer.status, answer.json["state"]) == (409, "queued")


def test_the_same_key_with_another_time_is_another_request(api: ApiWorld) -> None:
    body = {**PROMPT, "run_at": START}
    first = api.submit(body, key="k")
    same = {**PROMPT, "run_at": "2026-09-21T17:13:20+02:00"}
    assert api.submit(same, key="k").json["id"] == first.json["id"]
    assert api.submit({**PROMPT, "delay": HOUR}, key="k").code == "idempotency_key_reused"
    assert api.submit(PROMPT, key="k").code == "idempotency_key_reused"


def test_a_delay_is_the_same_request_whenever_it_is_repeated(api: ApiWorld) -> None:
    body = {**PROMPT, "delay": HOUR}
    first = api.submit(body, key="k")
    api.world.clock.advance(5)
    assert api.submit(body, key="k").json["id"] == first.json["id"]


def test_the_callers_own_limits_count_within_those_of_the_type(api: ApiWorld) -> None:
    own = {"queue_seconds": 3600, "run_seconds": 7200, "deadline_seconds": 10_800}
    limits = api.submit({**PROMPT, "timeouts": own, "expected_seconds": 5}).json["limits"]
    assert (limits["queue_timeout"], limits["run_timeout"], limits["deadline"]) == (
        3600,
        7200,
        10_800,
    )


def test_a_limit_beyond_the_types_is_refused_with_the_bound(api: ApiWorld) -> None:
    answer = api.submit({**PROMPT, "timeouts": {"run_seconds": 99_999}})
    assert answer.json["errors"][0]["message"] == "1 to 21600 for text_to_image"


def test_the_document_says_that_a_reschedule_without_a_time_is_refused(api: ApiWorld) -> None:
    schema = {"$ref": "#/components/schemas/Reschedule"}
    task_id = api.submitted({**PROMPT, "delay": HOUR})
    for body, good in (({}, False), ({"reason": "later"}, False), ({"delay": 2 * HOUR}, True)):
        assert _fits(body, schema) is good
        answer = api.post(f"/v1/tasks/{task_id}/reschedule", body)
        assert answer.status == (200 if good else 422)


def _fits(body: object, schema: dict[str, str]) -> bool:
    try:
        assert_fits(body, schema)
    except AssertionError:
        return False
    return True
