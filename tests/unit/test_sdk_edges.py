"""What AWS answers and the emulator never does, at the edge of the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from taskgate.aws import clients, reads
from taskgate.aws.errands import SqsErrands
from taskgate.aws.lanes import MAX_DELAY, SqsLanes
from taskgate.aws.ports import build
from taskgate.errors import BadSetting, Unavailable
from taskgate.lifecycle.states import State
from taskgate.ports import Message, Ports
from taskgate.testing import aws_resources
from taskgate.testing.factories import task_in

IDS = ["task_01ARZ3NDEKTSV4RRFFQ69G5FAV", "task_01ARZ3NDEKTSV4RRFFQ69G5FAW"]


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    monkeypatch.setattr(reads.time, "sleep", lambda _: None)
    with mock_aws():
        yield build(aws_resources.create("edges"))


def left_out(ports: Ports, times: int) -> list[int]:
    """Let the busy table leave the second key of each batch undone so many times; counts keys."""
    asked: list[int] = []

    def answered(parsed: dict[str, Any], **_: Any) -> None:
        asked.append(1)
        if len(asked) <= times:
            table = {"Keys": [{"pk": {"S": f"TASK#{IDS[1]}"}, "sk": {"S": "TASK"}}]}
            parsed["UnprocessedKeys"] = {ports.tasks._tasks: table}  # type: ignore[attr-defined]

    client: Any = ports.tasks._client  # type: ignore[attr-defined]
    client.meta.events.register("after-call.dynamodb.BatchGetItem", answered)
    return asked


def test_keys_that_a_busy_table_left_out_of_a_batch_are_asked_for_again(ports: Ports) -> None:
    asked = left_out(ports, 2)
    assert ports.tasks.get_many(IDS) == {}
    assert len(asked) == 3


def test_a_table_that_leaves_keys_out_again_and_again_is_busy_not_empty(ports: Ports) -> None:
    left_out(ports, 99)
    with pytest.raises(Unavailable):
        ports.tasks.get_many(IDS)


@pytest.mark.parametrize("delay", [-1, MAX_DELAY + 1])
def test_a_delay_that_sqs_would_refuse_is_refused_before_it_is_sent(delay: int) -> None:
    with mock_aws():
        environment = aws_resources.create("delays")
        lanes, lane = SqsLanes(clients.sqs(), environment.lanes), "cpu-normal"
        errands = SqsErrands(clients.sqs(), environment.lanes[lane])
        with pytest.raises(BadSetting, match="0 to 900 s"):
            lanes.send(lane, Message.of(task_in(State.QUEUED)), delay)
        with pytest.raises(BadSetting, match="0 to 900 s"):
            errands.send(IDS[0], delay)
