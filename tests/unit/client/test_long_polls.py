"""A wait asks the gateway to hold its answers back, and gets by without it where none are held."""

import httpx
import pytest

from taskgate.client import Clock, Refused, Task, Taskgate, WaitTimeout
from taskgate.testing.fake_gateway import Answer, FakeGateway

ROUTE = "GET /v1/tasks/task_1/status"


class Holding:
    """A gateway that holds answers back until the task has ended, at `ends_at`, or has news."""

    def __init__(self, clock, ends_at: float, news: tuple[float, ...] = ()) -> None:
        self.clock, self.ends_at, self.news = clock, ends_at, news
        self.asked: list[tuple[float, int, str | None]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        wait = int(request.url.params.get("wait", "0"))
        known = request.headers.get("if-none-match")
        self.asked.append((self.clock.time, wait, known))
        until = min(self.clock.time + wait, max(self.ends_at, self.clock.time))
        if known is not None:
            fresh = [at for at in self.news if at > self.clock.time]
            until = min(until, *fresh, until) if known == self._tag() else self.clock.time
        self.clock.time = max(until, self.clock.time)
        state = "succeeded" if self.clock.time >= self.ends_at else "processing"
        headers = {"ETag": self._tag(), "Retry-After": "2"}
        return httpx.Response(200, json={"id": "task_1", "state": state}, headers=headers)

    def _tag(self) -> str:
        return f'"{sum(at <= self.clock.time for at in self.news)}"'


def _client(clock, holding: Holding) -> Taskgate:
    return Taskgate(
        "http://gateway.test",
        "tg_key",
        clock=Clock(clock.now, clock.sleep),
        transport=httpx.MockTransport(holding),
    )


def test_a_wait_of_a_minute_takes_four_requests_and_ends_when_the_task_does(clock) -> None:
    holding = Holding(clock, ends_at=65)
    assert _client(clock, holding).handle("task_1").wait().succeeded
    assert [(at, wait) for at, wait, _ in holding.asked] == [(0, 20), (20, 20), (40, 20), (60, 20)]
    assert clock.time == 65
    assert clock.naps == []


def test_a_wait_holds_no_longer_than_its_timeout(clock) -> None:
    holding = Holding(clock, ends_at=100)
    with pytest.raises(WaitTimeout, match="after 25 s"):
        _client(clock, holding).handle("task_1").wait(timeout=25)
    assert [wait for _, wait, _ in holding.asked] == [20, 5]
    assert clock.time == 25


def test_updates_show_the_task_at_once_and_then_each_change_no_faster_than_the_pace(clock) -> None:
    holding = Holding(clock, ends_at=30, news=(10.0, 10.5, 11.0, 25.0))
    seen: list[Task] = []
    _client(clock, holding).handle("task_1").wait(on_update=seen.append)
    assert [at for at, _, _ in holding.asked] == [0, 2, 10, 12, 14, 25]
    assert holding.asked[0] == (0, 0, None)
    assert {wait for _, wait, _ in holding.asked[1:]} == {20}
    assert seen[-1].succeeded


def test_a_gateway_that_holds_nothing_back_is_asked_at_its_pace(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    queued = Answer(200, {"id": "task_1", "state": "queued"}, {"Retry-After": "5"})
    gateway.answers(ROUTE, queued, queued, Answer(body={"id": "task_1", "state": "failed"}))
    assert client.handle("task_1").wait().state == "failed"
    assert clock.naps == [5, 5]


def test_a_gateway_that_does_not_know_the_word_is_asked_without_it_from_then_on(
    gateway: FakeGateway, client: Taskgate
) -> None:
    problem = {"code": "invalid_request", "errors": [{"field": "wait", "message": "unknown"}]}
    queued = Answer(body={"id": "task_1", "state": "queued"})
    done = Answer(body={"id": "task_1", "state": "succeeded"})
    gateway.answers(ROUTE, Answer(422, problem), queued, done)
    assert client.handle("task_1").wait().succeeded
    assert [seen.query for seen in gateway.seen] == [{"wait": "20"}, {}, {}]


def test_any_other_refusal_ends_the_wait(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(ROUTE, Answer(422, {"code": "invalid_request"}))
    with pytest.raises(Refused):
        client.handle("task_1").wait()
    assert len(gateway.seen) == 1
