"""What a lane carries: ids, whose it is, and nothing that a user wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.lanes import SqsLanes, read, write
from taskgate.lifecycle.states import State
from taskgate.ports import Message
from taskgate.testing import aws_resources
from taskgate.testing.factories import task_in
from taskgate.tracing import Trace, own

TASK = task_in(State.QUEUED, max_processing=7)
LANE = "cpu-normal"


@pytest.fixture
def lanes() -> Iterator[SqsLanes]:
    with mock_aws():
        yield SqsLanes(clients.sqs(), aws_resources.create("lanes").lanes)


def _parts(message: Message | None) -> tuple[object, ...]:
    assert message
    return (
        message.task_id,
        message.attempt,
        message.tenant,
        message.type,
        message.max_processing,
    )


def test_a_trace_travels_beside_the_body_and_a_message_without_one_is_read_all_the_same(
    lanes: SqsLanes,
) -> None:
    trace = Trace("4bf92f3577b34da6a3ce929d0e0e4736", 0, "vendor=1")
    message = Message.of(replace(TASK, given_trace=trace))
    assert "4bf9" not in write(message)
    lanes.send(LANE, message)
    (delivery,) = lanes.receive(LANE)
    assert delivery.message.given_trace == trace
    lanes._client.send_message(QueueUrl=lanes._urls[LANE], MessageBody=write(message))
    assert [d.message.given_trace for d in lanes.receive(LANE)] == [None]


def test_a_task_whose_caller_sent_no_trace_travels_with_its_own(lanes: SqsLanes) -> None:
    lanes.send(LANE, Message.of(TASK))
    (delivery,) = lanes.receive(LANE)
    assert delivery.message.given_trace == TASK.trace == own(TASK.id)


def test_a_message_arrives_as_it_was_sent_and_is_grouped_by_its_tenant(lanes: SqsLanes) -> None:
    message = Message.of(TASK)
    lanes.send(LANE, message)
    (raw,) = lanes._client.receive_message(
        QueueUrl=lanes._urls[LANE],
        MessageSystemAttributeNames=["MessageGroupId"],
        VisibilityTimeout=0,
    )["Messages"]
    assert raw["Attributes"]["MessageGroupId"] == TASK.owner.tenant
    (delivery,) = lanes.receive(LANE)
    assert _parts(delivery.message) == _parts(message)
    assert _parts(message)[2:] == (TASK.owner.tenant, TASK.type, 7)


def test_a_message_of_before_there_were_tenants_in_it_is_still_read(lanes: SqsLanes) -> None:
    assert _parts(read('{"task": "task_1", "attempt": 2}')) == ("task_1", 2, "", "", None)
    lanes.send(LANE, Message("task_1", 2))
    (delivery,) = lanes.receive(LANE)
    assert delivery.message == Message("task_1", 2)


NOT_OURS = {
    "a list": "[]",
    "a number": "7",
    "no attempt": '{"task": "t"}',
    "a cap of letters": '{"task":"t","attempt":1,"most":"x"}',
    "a cap over all": '{"task":"t","attempt":1,"most":1000000000}',
    "an attempt without end": '{"task":"t","attempt":Infinity}',
    "an attempt that is no number": '{"task":"t","attempt":NaN}',
    "an attempt below none": '{"task":"t","attempt":-1}',
    "an attempt of true": '{"task":"t","attempt":true}',
    "nested too deep": "[" * 100_000,
    "an id longer than a key": json.dumps({"task": "t" * 3000, "attempt": 1}),
    "an id that leaves its key": '{"task":"t#INPUT","attempt":1}',
    "half a character": '{"task":"t","attempt":1,"tenant":"\\ud800"}',
    "a tenant that no group is called": '{"task":"t","attempt":1,"tenant":"a b"}',
    "a type of another kind": '{"task":"t","attempt":1,"type":["x"]}',
}


@pytest.mark.parametrize("body", NOT_OURS.values(), ids=NOT_OURS)
def test_what_we_did_not_write_is_no_message_and_ends_no_worker(body: str) -> None:
    assert read(body) is None


def test_a_worker_polls_on_past_a_letter_of_somebody_else(lanes: SqsLanes) -> None:
    for body in ("[" * 100_000, NOT_OURS["an attempt without end"]):
        lanes._client.send_message(QueueUrl=lanes._urls[LANE], MessageBody=body)
    lanes.send(LANE, Message.of(TASK))
    found = [delivery for _ in range(3) for delivery in lanes.receive(LANE)]
    assert [delivery.message.task_id for delivery in found] == [TASK.id]


def test_a_message_is_short_and_plain() -> None:
    text = write(Message.of(TASK))
    assert text.isascii()
    assert len(text) < 256
