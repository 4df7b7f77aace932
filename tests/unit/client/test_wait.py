import pytest

from taskgate.client import Refused, TaskFailed, Taskgate, Unreachable, WaitTimeout
from taskgate.testing.fake_gateway import Answer, FakeGateway

ROUTE = "GET /v1/tasks/task_1/status"


def status(state: str, retry_after: int = 2, etag: str = '"1"', **more: object) -> Answer:
    headers = {"Retry-After": str(retry_after), "ETag": etag}
    return Answer(200, {"id": "task_1", "state": state, **more}, headers)


def test_a_wait_never_asks_faster_than_retry_after(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, status("queued", 2), status("processing", 5), status("succeeded", 10))
    assert client.handle("task_1").wait().succeeded
    assert clock.naps == [2, 5]


def test_an_unchanged_task_costs_an_empty_answer_since_the_etag_is_sent_back(
    gateway: FakeGateway, client: Taskgate
) -> None:
    unchanged = Answer(304, b"", {"Retry-After": "2"})
    gateway.answers(ROUTE, status("queued", etag='"a"'), unchanged, status("succeeded"))
    seen = []
    client.handle("task_1").wait(on_update=seen.append)
    assert [task.state for task in seen] == ["queued", "queued", "succeeded"]
    assert [s.headers.get("if-none-match") for s in gateway.seen] == [None, '"a"', '"a"']


def test_a_timeout_carries_the_id_and_the_last_state(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, status("processing", 2))
    with pytest.raises(WaitTimeout, match="task_1 is processing after 5 s") as timeout:
        client.handle("task_1").wait(timeout=5)
    assert timeout.value.task_id == "task_1"
    assert clock.time <= 5


def test_a_gateway_out_of_reach_for_a_moment_does_not_end_the_wait(
    gateway: FakeGateway, client: Taskgate
) -> None:
    lost = [Answer(lost=True)] * 8
    gateway.answers(ROUTE, status("processing"), *lost, status("succeeded"))
    assert client.handle("task_1").wait().succeeded


def test_a_gateway_out_of_reach_for_long_ends_the_wait_and_the_error_names_the_task(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(ROUTE, Answer(lost=True))
    with pytest.raises(Unreachable) as lost:
        client.handle("task_1").wait()
    assert lost.value.task_id == "task_1"
    assert "task_1" in lost.value.__notes__[0]


def test_a_gateway_that_is_too_busy_for_a_look_does_not_end_the_wait(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    """The throttle of the whole stage is AWS's, and says nothing of this task."""
    busy = [Answer(429, {"message": "Too Many Requests"}), Answer(500, {"message": "x"})]
    later = Answer(503, {"code": "unavailable"}, {"Retry-After": "7"})
    gateway.answers(ROUTE, *busy, later, status("succeeded"))
    assert client.handle("task_1").wait().succeeded
    assert clock.naps == [2, 2, 7]


def test_a_wait_is_over_in_its_time_though_nobody_answers_and_says_so(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, Answer(503, {"detail": "We are busy."}, {"Retry-After": "4"}))
    with pytest.raises(WaitTimeout, match=r"was not seen after 9 s .* failed: We are busy") as over:
        client.handle("task_1").wait(timeout=9)
    assert over.value.task_id == "task_1"
    assert clock.time <= 9


def test_a_refusal_ends_the_wait_at_once(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(ROUTE, Answer(403, {"code": "missing_scope"}))
    with pytest.raises(Refused):
        client.handle("task_1").wait()


def test_a_task_that_ends_badly_is_returned_by_wait_and_raised_by_result(
    gateway: FakeGateway, client: Taskgate
) -> None:
    error = {"code": "model_error", "message": "no", "class": "permanent", "retryable": False}
    gateway.answers(ROUTE, status("failed", error=error))
    gateway.answers(
        "GET /v1/tasks/task_1", Answer(body={"id": "task_1", "state": "failed", "error": error})
    )
    gateway.answers("GET /v1/tasks/task_1/result", Answer(409, {"code": "result_not_ready"}))
    handle = client.handle("task_1")
    assert handle.wait().state == "failed"
    with pytest.raises(TaskFailed, match="model_error: no") as failed:
        handle.result()
    assert failed.value.task_id == "task_1"


def test_subscribe_tells_the_id_before_it_waits(gateway: FakeGateway, client: Taskgate) -> None:
    told = []
    gateway.answers("POST /v1/tasks", Answer(202, {"id": "task_1"}))
    gateway.answers(ROUTE, status("processing"))
    with pytest.raises(WaitTimeout):
        client.subscribe("a", {}, on_submit=lambda h: told.append(h.id), timeout=1)
    assert told == ["task_1"]


def test_a_state_of_a_newer_gateway_is_kept_and_not_taken_for_an_end(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(ROUTE, status("dreaming", mood="new"), status("succeeded"))
    states = [task.state for task in client.updates("task_1")]
    assert states == ["dreaming", "succeeded"]
