"""How long an answer took is a metric, unless its caller asked to have it held back."""

from __future__ import annotations

from typing import Any

import pytest

from functions.http.service import _held
from taskgate.metrics import API_TIME, OLDEST_OWED, labels, measured

PROD = labels("prod", "c0")


@pytest.mark.parametrize(
    ("event", "held"),
    [
        ({"rawPath": "/v1/tasks", "headers": {}}, False),
        ({"rawPath": "/v1/tasks/task_1/status", "queryStringParameters": {"wait": "20"}}, True),
        ({"rawPath": "/v1/tasks", "headers": {"prefer": "respond-async, Wait=10"}}, True),
        ({"rawPath": "/v1/admin/tasks/task_1"}, True),
        ({}, False),
    ],
)
def test_an_answer_that_was_asked_to_wait_says_nothing_of_our_speed(
    event: dict[str, Any], held: bool
) -> None:
    assert _held(event) is held


def test_a_request_is_measured_only_when_it_was_not_held() -> None:
    line = measured({"event": "request", "ms": 12.5, "unheld_ms": 12.5}, PROD)
    assert line[API_TIME] == 12.5
    assert "_aws" not in measured({"event": "request", "ms": 20_000.0}, PROD)


def test_the_oldest_debt_is_a_metric_of_each_run_of_the_backstop() -> None:
    line = measured({"event": "outbox_swept", "errands": 0, "oldest_owed_seconds": 0.0}, PROD)
    assert line[OLDEST_OWED] == 0.0
