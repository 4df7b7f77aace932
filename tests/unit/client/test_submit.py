import json
import logging

import pytest

from taskgate.client import Refused, ServerError, Taskgate, Unreachable
from taskgate.testing.fake_gateway import Answer, FakeGateway

ACCEPTED = Answer(202, {"id": "task_1", "state": "queued", "type": "text_to_image"})
ROUTE = "POST /v1/tasks"


def test_a_lost_answer_never_makes_a_second_task_since_the_key_is_reused(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(ROUTE, Answer(lost=True), Answer(503), ACCEPTED)
    handle = client.submit("text_to_image", {"prompt": "x"})
    keys = {seen.headers["idempotency-key"] for seen in gateway.asked(ROUTE)}
    assert len(gateway.asked(ROUTE)) == 3
    assert keys == {handle.idempotency_key}
    assert len({seen.body for seen in gateway.asked(ROUTE)}) == 1


def test_two_submits_carry_two_keys(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    client.submit("a", {})
    client.submit("a", {})
    assert len({seen.headers["idempotency-key"] for seen in gateway.asked(ROUTE)}) == 2


def test_the_callers_own_key_is_sent_as_it_is(gateway: FakeGateway, client: Taskgate) -> None:
    gateway.answers(ROUTE, Answer(200, {"id": "task_1"}, {"Idempotent-Replayed": "true"}))
    handle = client.submit("a", {}, idempotency_key="order-7")
    assert gateway.seen[0].headers["idempotency-key"] == "order-7"
    assert handle.replayed


def test_only_what_was_given_is_sent_and_the_key_travels_as_bearer(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    client.submit("a", {"n": 1, "text": "é😀\x00"}, metadata={"run": "7"}, expected_seconds=3)
    seen = gateway.seen[0]
    assert seen.headers["authorization"] == "Bearer tg_key"
    assert json.loads(seen.body) == {
        "type": "a",
        "input": {"n": 1, "text": "é😀\x00"},
        "priority": "normal",
        "metadata": {"run": "7"},
        "expected_seconds": 3,
    }


def test_a_refusal_is_not_tried_again_and_names_the_field(
    gateway: FakeGateway, client: Taskgate
) -> None:
    problem = {
        "title": "The input does not fit.",
        "code": "invalid_input",
        "errors": [{"field": "input.steps", "message": "too many"}],
    }
    gateway.answers(ROUTE, Answer(422, problem))
    with pytest.raises(Refused) as refused:
        client.submit("a", {})
    assert (refused.value.status, refused.value.code) == (422, "invalid_input")
    assert [f.field for f in refused.value.fields] == ["input.steps"]
    assert len(gateway.seen) == 1


def test_a_gateway_that_stays_busy_is_given_up_with_growing_pauses(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, Answer(503, b"<html>busy</html>"))
    with pytest.raises(ServerError):
        client.submit("a", {})
    assert clock.naps == [0.5, 1.0, 2.0]


def test_a_retry_after_is_honoured_before_the_next_try(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, Answer(429, {}, {"Retry-After": "7"}), ACCEPTED)
    client.submit("a", {})
    assert clock.naps == [7.5]


def test_a_retry_after_beyond_patience_is_reported_at_once(
    gateway: FakeGateway, client: Taskgate, clock
) -> None:
    gateway.answers(ROUTE, Answer(429, {"code": "slow_down"}, {"Retry-After": "3600"}))
    with pytest.raises(Refused) as refused:
        client.submit("a", {})
    assert refused.value.retry_after == 3600
    assert clock.naps == []


def test_an_error_of_the_gateway_hands_the_key_over_as_no_answer_does(
    gateway: FakeGateway, client: Taskgate
) -> None:
    """Whether the task is on record is not known: a submit with the same key brings it either way."""
    gateway.answers(ROUTE, Answer(500, {"code": "internal_error", "instance": "r7"}))
    with pytest.raises(ServerError) as broken:
        client.submit("a", {}, idempotency_key="order-7")
    assert (broken.value.idempotency_key, broken.value.request_id) == ("order-7", "r7")
    assert len(gateway.asked(ROUTE)) == 4


def test_each_wait_before_another_try_is_told_to_the_log(
    gateway: FakeGateway, client: Taskgate
) -> None:
    told: list[str] = []
    listening = logging.Handler()
    listening.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("taskgate.client")
    level = log.level
    log.addHandler(listening)
    log.setLevel(logging.INFO)
    try:
        full = Answer(429, {"detail": "The lane is full."}, {"Retry-After": "30"})
        gateway.answers(ROUTE, full, Answer(lost=True), ACCEPTED)
        client.submit("a", {})
    finally:
        log.removeHandler(listening)
        log.setLevel(level)
    assert told[0] == "The lane is full. Trying again in 30.5 s."
    assert told[1].startswith("No answer: ")


def test_no_answer_at_all_hands_the_key_over_so_that_the_task_can_be_found(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(ROUTE, Answer(lost=True))
    with pytest.raises(Unreachable) as lost:
        client.submit("a", {}, idempotency_key="order-7")
    assert lost.value.idempotency_key == "order-7"
