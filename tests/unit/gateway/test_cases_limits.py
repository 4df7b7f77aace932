"""Cases of other projects about what a record may hold and which clock it tells (B19, B67)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from taskgate.aws import ports
from taskgate.aws.codec import encode
from taskgate.aws.values import Value
from taskgate.gateway import announcing
from taskgate.gateway.office import redriving
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.gateway.stamps import new_task_id
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import applied
from taskgate.lifecycle.history import MAX_ENTRIES, MAX_REASON
from taskgate.lifecycle.owing import KEPT_TRIES
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import MAX_CHECKPOINT
from taskgate.task import Callback, Task, TaskError, Tried
from taskgate.testing.factories import T0, stamp, task_in

MOST_ITEM_BYTES = 400 * 1024
WRITTEN_OUT = "2026-09-21T14:13:20.000Z"


@pytest.fixture(params=["Asia/Kolkata", "America/Denver", "UTC"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_times_are_the_same_in_every_time_zone(zone: str) -> None:
    del zone
    assert announcing.rfc3339(T0) == WRITTEN_OUT
    assert abs(ports.now() - time.time() * 1000) < 1000
    assert new_task_id(T0).startswith("task_01M3250V00")
    letter = DeadLetter(id="m", lane="cpu-low", body="", receives=1, sent_at=T0)
    assert letter.key == "dead/cpu-low/2026-09-21/m.json"
    item = encode(task_in(State.FAILED), 16)
    assert item["problem_day"]["S"].startswith("2026-09-21#")
    assert list(redriving._days(T0, T0)) == ["2026-09-21"]


def fullest() -> Task:
    """Every text as long as its limit, in characters of two or four bytes."""
    reason = "é" * MAX_REASON
    task = task_in(
        State.PROCESSING,
        metadata=json.dumps({f"{n:064d}": "😀" * 256 for n in range(16)}, ensure_ascii=False),
        checkpoint="é" * (MAX_CHECKPOINT // 2),
        callback=Callback(
            "https://example.org/" + "x" * 2000,
            ("task.succeeded", "task.failed", "task.timed_out", "task.canceled"),
            latest=tuple(Tried(T0, 500, 10_000, "server_error") for _ in range(KEPT_TRIES)),
        ),
    )
    for number in range(3 * MAX_ENTRIES):
        made = stamp(T0 + number, "user:" + "a" * 200, reason)
        verb = transitions.stall if task.state is State.PROCESSING else transitions.revive
        task = applied(task, verb(task, made))
    return task


def test_a_task_whose_every_text_is_as_long_as_it_may_be_can_still_be_ended() -> None:
    error = TaskError(ErrorCode.MODEL_ERROR, "m" * 10**6, ErrorClass.PERMANENT, "é" * 10**6)
    task = fullest()
    assert len(task.history) == MAX_ENTRIES
    ended = applied(task, transitions.fail(task, stamp(T0 + 10**6), error, GiveUp("no")))
    assert ended.state is State.FAILED
    assert written(replace(ended, output="x" * transitions.MAX_OUTPUT)) < MOST_ITEM_BYTES / 4


def written(task: Task) -> int:
    """More than the item's size: its JSON with the marks of its types."""
    item: dict[str, Value] = encode(task, 16)
    return len(json.dumps(item, ensure_ascii=False, default=str).encode())
