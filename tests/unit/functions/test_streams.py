"""The stream's handlers under Lambda's own rules, which the emulator does not keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cdk_app.outbox_callback import STREAM_RETRIES
from functions.event_bus.handler import run as tell_bus
from functions.outbox_callback.handler import run
from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.testing.factories import task_in
from taskgate.testing.stream import StreamReader
from tests.unit.functions.test_event_bus import Bus
from tests.unit.functions.test_event_bus import record as bus_record
from tests.unit.functions.test_outbox_handler import change
from tests.unit.gateway.test_settling import OK, Post, callback


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"dynamodb": {"SequenceNumber": str(n)}} for n in range(count)]


def seen(records: list[Mapping[str, Any]]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in records]


def test_the_reader_goes_on_from_the_first_record_that_is_named() -> None:
    heard: list[list[int]] = []

    def handler(event: dict[str, Any]) -> dict[str, Any]:
        heard.append(seen(event["Records"]))
        failed = ["3", "5"] if len(heard) == 1 else []
        return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}

    StreamReader(handler, retries=2).read(numbered(8))
    assert heard == [list(range(8)), [3, 4, 5, 6, 7]]


def test_a_batch_that_breaks_is_halved_until_the_one_record_is_found_and_dropped() -> None:
    done: Counter[int] = Counter()

    def handler(event: dict[str, Any]) -> None:
        numbers = seen(event["Records"])
        if 13 in numbers:
            raise RuntimeError
        done.update(numbers)

    reader = StreamReader(handler, retries=2)
    reader.read(numbered(20))
    assert seen(reader.dropped) == [13]
    assert done == Counter(set(range(20)) - {13})


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Callable[[Post, int], Counter[str]]:
    """A queue of errands that is away at every n-th send; what it took, by task."""

    def made(post: Post, every: int) -> Counter[str]:
        took, calls, send = Counter[str](), [0], post.errands.send

        def sometimes(task_id: str, delay: int, news: str | None = None) -> None:
            calls[0] += 1
            if calls[0] % every == 0:
                raise Unavailable
            took[task_id] += 1
            send(task_id, delay, news)

        monkeypatch.setattr(post.errands, "send", sometimes)
        return took

    return made


def test_every_debt_of_a_shard_is_passed_on_while_the_queue_is_away_at_times(
    tmp_path: Any, flaky: Callable[[Post, int], Counter[str]]
) -> None:
    post = Post(OK)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(25)]
    took = flaky(post, 4)
    reader = StreamReader(lambda event: run(post.outbox, event, 30_000), STREAM_RETRIES, batch=10)
    reader.read([change(task, None, "owed#1", n) for n, task in enumerate(tasks)])
    assert reader.dropped == []
    assert set(took) == {task.id for task in tasks}


def test_what_the_reader_gives_up_is_brought_by_the_clock(
    tmp_path: Any, flaky: Callable[[Post, int], Counter[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Post(OK)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(3)]
    with monkeypatch.context() as away:

        def gone(task_id: str, delay: int, news: str | None = None) -> None:
            raise Unavailable

        away.setattr(post.errands, "send", gone)
        reader = StreamReader(lambda event: run(post.outbox, event, 30_000), STREAM_RETRIES)
        reader.read([change(task, None, "owed#1", n) for n, task in enumerate(tasks)])
    assert len(reader.dropped) == 3
    assert reader.invocations < 50
    assert run(post.outbox, {"source": "aws.events"}, 30_000) == {"errands": 3}


def test_the_bus_hears_of_every_transition_though_it_takes_none_of_some_at_first() -> None:
    tasks = [task_in(State.CREATED) for _ in range(25)]
    bus = Bus(3, 12, 13)
    reader = StreamReader(lambda event: tell_bus(event["Records"], bus.put), retries=10)
    reader.read([bus_record(None, task, n) for n, task in enumerate(tasks)])
    taken = [entry["Detail"] for n, entry in enumerate(bus.entries) if n not in bus.refuses]
    assert reader.dropped == []
    assert all(any(task.id in detail for detail in taken) for task in tasks)
