"""Both halves of a partial batch are there, and no dead letter can be lost on its way."""

from __future__ import annotations

import pytest

from taskgate.catalog import CATALOG
from taskgate.settings import STAGES, stage

QUEUE, MAPPING = "AWS::SQS::Queue", "AWS::Lambda::EventSourceMapping"


def dead_queues(data):
    return {
        resource["Properties"]["QueueName"]: resource["Properties"]
        for resource in data.of_type(QUEUE).values()
        if resource["Properties"]["QueueName"].endswith("-dead")
    }


def mappings(gateway):
    """What the dead-letter function reads."""
    found = gateway.of_type(MAPPING).items()
    return [m["Properties"] for name, m in found if name.startswith("DeadLetters")]


def function(gateway):
    [found] = [
        f for f in gateway.properties("AWS::Lambda::Function") if "dead_letter" in f["Handler"]
    ]
    return found


@pytest.mark.parametrize("name", STAGES)
def test_the_dead_letter_queue_of_every_lane_is_read(synthesise, resolve, name):
    _, gateway = synthesise(name)
    sources = {resolve(m["EventSourceArn"]) for m in mappings(gateway)}
    assert len(sources) == len(CATALOG.lanes())


def test_one_bad_letter_never_makes_the_others_run_again(gateway):
    # Of every function that reads a queue, not of this one alone.
    for mapping in gateway.properties(MAPPING):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping.get("Enabled", True) is True


def test_a_flood_of_dead_letters_is_read_at_a_bounded_rate(gateway):
    sources = mappings(gateway)
    assert all(m["ScalingConfig"]["MaximumConcurrency"] == 2 for m in sources)
    reserved = function(gateway).get("ReservedConcurrentExecutions")
    # A poll that finds no free place spends a receive for nothing.
    assert reserved is None or reserved >= 2 * len(sources)


def test_a_letter_that_is_being_answered_is_not_shown_to_a_second_reader(data, gateway):
    timeout = function(gateway)["Timeout"]
    for queue in dead_queues(data).values():
        assert queue["VisibilityTimeout"] >= 6 * timeout


def test_a_letter_that_cannot_be_answered_stays_as_long_as_a_queue_can_keep_it(data):
    for queue in dead_queues(data).values():
        assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600
        assert "RedrivePolicy" not in queue


def test_kept_letters_outlast_the_queues_and_go_in_the_end(data):
    [bucket] = data.properties("AWS::S3::Bucket")
    [rule] = [r for r in bucket["LifecycleConfiguration"]["Rules"] if r.get("Prefix") == "dead/"]
    assert rule["ExpirationInDays"] == stage("prod").dead_letter_days > 14


def test_the_hourly_check_may_read_and_write_nothing_but_what_it_found(gateway):
    [policy] = [
        resource["Properties"]
        for name, resource in gateway.of_type("AWS::IAM::Policy").items()
        if name.startswith("Reconcile")
    ]
    actions: dict[str, list[str] | None] = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        found = statement["Action"]
        keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {})
        for action in found if isinstance(found, list) else [found]:
            if action.startswith("dynamodb:"):
                actions[action] = keys.get("dynamodb:LeadingKeys")
    assert actions == {
        "dynamodb:GetItem": ["TASK#*", "LEDGER#*"],
        "dynamodb:Scan": None,
        "dynamodb:UpdateItem": ["RECONCILE"],
    }


def test_the_check_ends_before_its_next_one_starts(gateway):
    [rule] = [r for r in gateway.properties("AWS::Events::Rule") if "reconcile" in r["Name"]]
    assert rule["ScheduleExpression"] == "rate(1 hour)"
    [found] = [
        f for f in gateway.properties("AWS::Lambda::Function") if "reconcile" in f["Handler"]
    ]
    assert found["Timeout"] <= 900
