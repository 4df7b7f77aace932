"""Other systems can listen to every transition, where a stage asks for it."""

from __future__ import annotations

import pytest

from taskgate.settings import STAGES
from tests.infra.conftest import Template


@pytest.fixture(scope="module")
def listening(deployments):
    return Template(deployments("prod", event_bus=True).gateway)


def test_no_stage_pays_for_a_bus_that_nobody_asked_for(synthesise):
    for name in STAGES:
        assert not synthesise(name)[1].of_type("AWS::Events::EventBus")


def test_the_bus_has_the_name_that_its_function_is_told(listening):
    [bus] = listening.properties("AWS::Events::EventBus")
    [function] = [
        f for f in listening.properties("AWS::Lambda::Function") if "event_bus" in f["Handler"]
    ]
    assert bus["Name"] == function["Environment"]["Variables"]["TASKGATE_EVENT_BUS"]


def test_a_shard_of_the_stream_has_the_two_readers_that_it_takes_and_no_more(listening):
    mappings = listening.properties("AWS::Lambda::EventSourceMapping")
    streams = [m for m in mappings if "StartingPosition" in m]
    assert len(streams) == 2
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in streams)
    assert all(m["BisectBatchOnFunctionError"] for m in streams)


def test_the_broadcast_may_read_the_stream_and_put_events_and_nothing_else(listening):
    [policy] = [
        r["Properties"]["PolicyDocument"]["Statement"]
        for name, r in listening.of_type("AWS::IAM::Policy").items()
        if name.startswith("EventBus")
    ]
    actions = {
        a for s in policy for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])
    }
    assert actions == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "events:PutEvents",
    }
