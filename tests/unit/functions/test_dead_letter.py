"""A batch of dead letters: the answer names exactly those that must come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.batches import handled
from taskgate.aws.lanes import write
from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.ports import Message
from taskgate.testing.memory.audit import MemoryArchive
from tests.unit.functions.api_world import ApiWorld, room_of

Run = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def archive() -> MemoryArchive:
    return MemoryArchive()


@pytest.fixture
def run(api: ApiWorld, archive: MemoryArchive, environment: None) -> Run:
    from functions.dead_letter import handler  # noqa: PLC0415 - it reads the environment

    return lambda event: handler.run(room_of(api.world.ports), archive, event)


def record(number: int, body: str, queue: str = "gpu-normal-dead") -> dict[str, Any]:
    return {
        "messageId": f"m{number}",
        "body": body,
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:000000000000:{queue}",
        "attributes": {"ApproximateReceiveCount": "11", "SentTimestamp": "1790000000000"},
    }


def test_one_that_works_one_that_fails_and_one_that_is_no_json(
    api: ApiWorld, run: Run, archive: MemoryArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    works, fails = api.submitted(), api.submitted()
    get = api.world.tasks.get

    def fails_for_one(task_id: str) -> Any:
        if task_id == fails:
            raise Unavailable
        return get(task_id)

    monkeypatch.setattr(api.world.tasks, "get", fails_for_one)
    answer = run(
        {
            "Records": [
                record(1, write(Message(works, 0))),
                record(2, write(Message(fails, 0))),
                record(3, "{bad json"),
            ]
        }
    )
    # Bad JSON is kept and done with: to see it again would not make it better.
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m2"}]}
    assert api.tasks[works].resent_in == 0
    assert len(archive.texts) == 3


def test_a_letter_from_a_queue_that_is_no_lanes_fails_alone(api: ApiWorld, run: Run) -> None:
    task_id = api.submitted()
    body = write(Message(task_id, 0))
    answer = run({"Records": [record(1, body, "stranger"), record(2, body)]})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert api.tasks[task_id].state is State.QUEUED


def test_an_empty_batch_names_nobody(run: Run) -> None:
    assert run({"Records": []}) == {"batchItemFailures": []}


def test_a_batch_that_is_none_fails_whole_rather_than_count_as_done() -> None:
    for event in ({}, {"Records": [{"body": "no id"}]}):
        with pytest.raises(KeyError):
            handled(event, lambda record: None)


def test_what_is_done_is_not_named_whatever_happens_to_the_others() -> None:
    done = []

    def handle(found: Any) -> None:
        if found["messageId"] in {"m1", "m4"}:
            raise RuntimeError
        done.append(found["messageId"])

    answer = handled({"Records": [record(i, "") for i in range(5)]}, handle)
    assert [f["itemIdentifier"] for f in answer["batchItemFailures"]] == ["m1", "m4"]
    assert done == ["m0", "m2", "m3"]
