"""The bus hears of every transition once, in order, and of nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from functions.event_bus.handler import run
from taskgate.aws.codec import encode
from taskgate.errors import Unavailable
from taskgate.lifecycle import owing, transitions
from taskgate.lifecycle.change import applied, noted, rearmed
from taskgate.lifecycle.history import MAX_ENTRIES
from taskgate.lifecycle.states import RULES, State, Verb
from taskgate.lifecycle.transitions import Outcome
from taskgate.task import Callback, ResultFile, Task
from taskgate.testing.factories import T0, stamp, task_in


class Bus:
    """Takes what it is given, but for the entries of these numbers."""

    def __init__(self, *refuses: int) -> None:
        self.refuses, self.entries = set(refuses), list[Mapping[str, Any]]()

    def put(self, entries: Sequence[Mapping[str, Any]]) -> Sequence[bool]:
        first = len(self.entries)
        self.entries += entries
        return [first + i not in self.refuses for i in range(len(entries))]

    @property
    def kinds(self) -> list[str]:
        return [str(e["DetailType"]) for e in self.entries]


def record(old: Task | None, new: Task, number: int = 1) -> dict[str, Any]:
    """As Lambda hands it over: JSON, in which bytes are base64."""
    images = {"NewImage": encode(new, 16)} | ({"OldImage": encode(old, 16)} if old else {})
    text = json.dumps(images, default=lambda raw: b64encode(raw).decode())
    return {"dynamodb": {"SequenceNumber": str(number), **json.loads(text)}}


def life() -> list[Task]:
    created = task_in(State.CREATED)
    queued = applied(created, transitions.enqueue(created, stamp(T0 + 1)))
    claim = transitions.claim(queued.id, 0, stamp(T0 + 2), "w1", 45_000)
    running = applied(queued, claim)
    key = f"r/{running.owner.tenant}/{running.id}/1/a.png"
    file = ResultFile("a.png", key, 3, bytes(range(224, 256)), "image/png")
    done = applied(running, transitions.succeed(running, stamp(T0 + 3), Outcome((file,))))
    return [created, queued, running, done]


def test_a_happy_life_is_told_in_four_events() -> None:
    bus, tasks = Bus(), life()
    pairs = zip([None, *tasks], tasks, strict=False)
    records = [record(old, new, i) for i, (old, new) in enumerate(pairs)]
    assert run(records, bus.put) == {"batchItemFailures": []}
    assert bus.kinds == ["Task Created", "Task Queued", "Task Processing", "Task Succeeded"]
    last = json.loads(bus.entries[-1]["Detail"])
    assert (last["from"], last["state"], last["attempt"]) == ("processing", "succeeded", 1)
    assert bus.entries[-1]["Source"] == "taskgate"


def test_a_clock_that_moved_is_no_event() -> None:
    bus, task = Bus(), task_in(State.QUEUED)
    moved = applied(task, rearmed(task, stamp(T0 + 9), T0 + 99_000))
    assert run([record(task, moved)], bus.put) == {"batchItemFailures": []}
    assert bus.entries == []


def test_an_end_is_told_once_whatever_its_history_tells_later() -> None:
    bus, end = Bus(), replace(life()[-1], callback=Callback("https://a.example", ()))
    asked = applied(end, owing.redeliver(end, stamp(T0 + 9)))
    late = applied(asked, noted(asked, Verb.SUCCEED, stamp(T0 + 10), 1))
    running = life()[2]
    refused = applied(running, noted(running, Verb.SUCCEED, stamp(T0 + 11), 0))
    records = [record(end, asked), record(asked, late), record(running, refused)]
    assert run(records, bus.put) == {"batchItemFailures": []}
    assert bus.entries == []


def test_a_transition_of_a_folded_history_is_told_all_the_same() -> None:
    bus, task = Bus(), task_in(State.QUEUED)
    task = replace(task, history=task.history * MAX_ENTRIES)
    paused = applied(task, transitions.pause(task, stamp(T0 + 9)))
    assert len(paused.history) == len(task.history)
    run([record(task, paused)], bus.put)
    assert bus.kinds == ["Task Paused"]


def test_other_items_of_the_table_are_no_events() -> None:
    bus = Bus()
    ledger = {"pk": {"S": "LEDGER#a#b"}, "sk": {"S": "0"}}
    record_ = {"dynamodb": {"SequenceNumber": "1", "NewImage": ledger}}
    assert run([record_], bus.put) == {"batchItemFailures": []}
    assert bus.entries == []


def test_what_the_bus_did_not_take_comes_again_from_there() -> None:
    tasks = [task_in(State.CREATED) for _ in range(25)]
    bus = Bus(12)
    answer = run([record(None, t, i) for i, t in enumerate(tasks)], bus.put)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "12"}]}


def test_a_bus_that_is_away_fails_the_first_and_loses_none() -> None:
    def away(entries: Sequence[Mapping[str, Any]]) -> Sequence[bool]:
        raise Unavailable

    answer = run([record(None, task_in(State.CREATED), 7)], away)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "7"}]}


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_a_kind_of_its_own(state: State) -> None:
    bus, task = Bus(), task_in(state)
    verb = next(verb for verb, rule in RULES.items() if state in rule.targets)
    task = replace(task, history=(replace(task.history[0], verb=verb, to=state),))
    run([record(None, task)], bus.put)
    assert bus.kinds == [f"Task {state.replace('_', ' ').title()}"]


_KEY = {"pk": {"S": "TASK#x"}, "sk": {"S": "TASK"}}
UNREADABLE: dict[str, dict[str, Any]] = {
    "a state of no version": {"dynamodb": {"NewImage": {**_KEY, "state": {"S": "lost"}}}},
    "a task of nothing": {"dynamodb": {"SequenceNumber": "99", "NewImage": _KEY}},
    "a key that is no text": {"dynamodb": {"NewImage": {"pk": {"N": "1"}, "sk": {"S": "TASK"}}}},
    "no change": {},
    "null": {"dynamodb": None},
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_cannot_be_read_among_20_holds_up_none_of_the_19(name: str) -> None:
    bus, task = Bus(), task_in(State.CREATED)
    records = [record(None, task, n) for n in range(19)]
    records.insert(5, UNREADABLE[name])
    assert run(records, bus.put) == {"batchItemFailures": []}
    assert bus.kinds == ["Task Created"] * 19
