"""The metrics that a line bears: EMF as CloudWatch reads it, and no label that could explode."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from taskgate import events, metrics
from taskgate.gateway.outbox.cleaning import Leftover, cleaned
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, applied
from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode, RetryAt
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.metrics import measured
from taskgate.task import Task, TaskError
from taskgate.testing.factories import LIMITS, T0, stamp, task_in

PROD = metrics.labels("prod", "c0")
LATER = T0 + 90_000
LOST = TaskError(ErrorCode.HEARTBEAT_LOST, "gone", ErrorClass.CRASH)
FAILED = TaskError(ErrorCode.MODEL_ERROR, "no", ErrorClass.TRANSIENT)


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(json.loads(record.getMessage()))


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Every line of this test, with its metrics; the logger is as it was afterwards."""
    handlers, filters = list(events.LOG.handlers), list(events.LOG.filters)
    handler = Lines()
    events.LOG.handlers, events.LOG.filters = [handler], []
    events.measure(PROD)
    yield handler.found
    events.LOG.handlers, events.LOG.filters = handlers, filters


def directives(line: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Metric names and the label sets that each is counted by."""
    return {
        metric["Name"]: directive["Dimensions"]
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
    }


def told(lines: list[dict[str, Any]], before: Task, change: Change) -> dict[str, Any]:
    events.transition(change, before, applied(before, change))
    return lines[-1]


def test_a_line_bears_its_metrics_beside_its_fields(lines: list[dict[str, Any]]) -> None:
    events.event("retry", task="task_1", type="ocr", error_class="transient")
    (line,) = lines
    assert (line["event"], line["task"]) == ("retry", "task_1")
    assert (line["task_retries"], line["task_retries_transient"]) == (1, 1)
    assert (line["stage"], line["cell"]) == ("prod", "c0")
    assert directives(line) == {
        "task_retries": [["stage", "cell"], ["stage", "cell", "type"]],
        "task_retries_transient": [["stage", "cell"], ["stage", "cell", "type"]],
    }


def test_every_metric_and_label_of_a_line_has_its_value_in_the_line() -> None:
    for name, found in metrics.METRICS.items():
        fields = {"event": name, "type": "ocr", "pool": "gpu", "cause": "x", "error_class": "crash"}
        fields |= {m.field: 1 for m in found if m.field}
        line = measured(fields, PROD)
        for metric, labels in directives(line).items():
            assert metric in line
            assert all(label in line for group in labels for label in group)


def test_no_metric_is_labelled_by_anything_but_stage_pool_and_type() -> None:
    assert {m.label for found in metrics.METRICS.values() for m in found} <= {None, "type", "pool"}


def test_an_event_without_metrics_is_left_as_it_is() -> None:
    assert measured({"event": "late_result", "task": "t"}, PROD) == {
        "event": "late_result",
        "task": "t",
    }


def test_a_claim_tells_how_long_the_task_waited_but_not_its_back_off(
    lines: list[dict[str, Any]],
) -> None:
    task = task_in(State.RETRYING, not_before=T0 + 60_000, queued_at=T0 + 60_000)
    change = transitions.claim(task.id, task.attempt, stamp(T0 + 65_000), "w1", LIMITS.lease)
    events.transition(change, None, applied(task, change))
    assert lines[-1]["task_queue_wait_seconds"] == 5.0


def test_each_run_that_is_over_says_whether_it_lost_its_process(
    lines: list[dict[str, Any]],
) -> None:
    task = task_in(State.PROCESSING)
    good = told(lines, task, transitions.succeed(task, stamp(LATER), Outcome()))
    lost = told(lines, task, transitions.take_over(task, stamp(LATER), "w2"))
    # 0 and 1: the average of the metric is the share of runs that were lost.
    assert (good["worker_crashes"], lost["worker_crashes"]) == (0, 1)


def test_a_good_run_is_not_waste(lines: list[dict[str, Any]]) -> None:
    task = task_in(State.PROCESSING)
    line = told(lines, task, transitions.succeed(task, stamp(LATER), Outcome()))
    assert line["task_run_seconds"] == 90.0
    assert "wasted_gpu_seconds" not in line


@pytest.mark.parametrize(
    ("state", "build", "cause"),
    [
        (
            State.PROCESSING,
            lambda t: transitions.fail(t, stamp(LATER), FAILED, RetryAt(LATER)),
            "model_error",
        ),
        (State.PROCESSING, lambda t: transitions.take_over(t, stamp(LATER), "w2"), "worker_lost"),
        (State.PROCESSING, lambda t: transitions.hand_back(t, stamp(LATER), None), "interrupted"),
        (State.PROCESSING, lambda t: transitions.snooze(t, stamp(LATER), LATER), "snoozed"),
        (State.CANCELING, lambda t: transitions.stopped(t, stamp(LATER)), "canceled_by_user"),
    ],
)
def test_a_run_that_did_not_count_is_waste_of_its_cause(
    lines: list[dict[str, Any]], state: State, build: Any, cause: str
) -> None:
    task = replace(task_in(state), error=None)
    line = told(lines, task, build(task))
    assert line["wasted_gpu_seconds"] == line[f"wasted_gpu_seconds_{cause}"] == 90.0


@pytest.mark.parametrize(
    ("state", "build", "kind"),
    [
        (State.PROCESSING, lambda t: transitions.take_over(t, stamp(LATER), "w2"), "crash"),
        (State.STALLED, lambda t: transitions.rescue(t, stamp(LATER), LOST), "crash"),
        (State.PROCESSING, lambda t: transitions.hand_back(t, stamp(LATER), None), "interruption"),
    ],
)
def test_a_run_that_starts_again_for_no_error_of_its_own_is_a_retry_of_its_class(
    lines: list[dict[str, Any]], state: State, build: Any, kind: str
) -> None:
    task = task_in(state)
    assert told(lines, task, build(task))[f"task_retries_{kind}"] == 1


def test_a_rescue_that_ends_the_task_and_a_pause_by_hand_are_no_retries(
    lines: list[dict[str, Any]],
) -> None:
    broke = task_in(State.STALLED, budgets=Budgets(Budget(3), Budget(0), Budget(20)))
    waiting = task_in(State.QUEUED)
    for task, change in (
        (broke, transitions.rescue(broke, stamp(LATER), LOST)),
        (waiting, transitions.pause(waiting, stamp(LATER))),
    ):
        assert "task_retries" not in told(lines, task, change)


def test_a_run_that_goes_on_tells_no_duration(lines: list[dict[str, Any]]) -> None:
    task = task_in(State.PROCESSING)
    for change in (
        transitions.extend(task, stamp(LATER), 60),
        transitions.stall(task, stamp(LATER)),
    ):
        assert "task_run_seconds" not in told(lines, task, change)


def test_a_histogram_is_an_array_of_values(lines: list[dict[str, Any]]) -> None:
    events.event("executing", type="ocr", count=3, durations=[50.0, 60.0, 70.0])
    assert lines[-1]["task_executing_duration_seconds"] == [50.0, 60.0, 70.0]
    assert lines[-1]["task_executing_count"] == 3


def test_measuring_twice_measures_once(lines: list[dict[str, Any]]) -> None:
    events.measure(PROD)
    events.event("retry", type="ocr", error_class="crash")
    assert len(lines) == 1
    assert len(events.LOG.filters) == 1


def test_a_workers_line_bears_its_metrics_at_the_top_as_cloudwatch_demands() -> None:
    code = (
        "from gpu_worker.logs import log_to_stdout; from taskgate.events import event, measure;"
        f"log_to_stdout('w1'); measure({PROD}); event('retry', type='ocr', error_class='crash')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout)
    assert (line["worker"], line["task_retries"], line["cell"]) == ("w1", 1, "c0")
    assert directives(line)["task_retries_crash"] == [["stage", "cell"], ["stage", "cell", "type"]]


@pytest.mark.parametrize("kind", Leftover)
def test_what_is_cleaned_up_is_counted_in_all_and_by_its_kind(
    lines: list[dict[str, Any]], kind: Leftover
) -> None:
    cleaned(task_in(State.CANCELED), kind, 3)
    [line] = lines
    assert (line["event"], line["kind"]) == ("cleaned", kind.value)
    assert line["objects_cleaned"] == line[f"objects_cleaned_{kind.value}"] == 3
    assert set(directives(line)) == {"objects_cleaned", f"objects_cleaned_{kind.value}"}
