"""The outbox is woken at once, again, and in any case; and one bad record holds up nobody."""

from __future__ import annotations

import json

import pytest

from taskgate.settings import STAGES

MAPPING = "AWS::Lambda::EventSourceMapping"


def outbox(gateway):
    [found] = [
        f for f in gateway.properties("AWS::Lambda::Function") if "outbox_callback" in f["Handler"]
    ]
    return found


def stream(gateway):
    [found] = [m for m in gateway.properties(MAPPING) if "StartingPosition" in m]
    return found


def errands(gateway, resolve):
    [found] = [
        m
        for m in gateway.properties(MAPPING)
        if "Errands" in resolve(m["EventSourceArn"]) and "StartingPosition" not in m
    ]
    return found


@pytest.mark.parametrize("name", STAGES)
def test_a_debt_wakes_the_outbox_by_the_stream_an_errand_and_the_clock(synthesise, resolve, name):
    _, gateway = synthesise(name)
    [pattern] = stream(gateway)["FilterCriteria"]["Filters"]
    shard = json.loads(pattern["Pattern"])["dynamodb"]["NewImage"]["clock_shard"]
    assert shard == {"S": [{"prefix": "owed#"}]}
    assert errands(gateway, resolve)["BatchSize"] == 1
    rules = [r["ScheduleExpression"] for r in gateway.properties("AWS::Events::Rule")]
    assert rules.count("rate(1 minute)") == 2


def test_one_bad_change_never_blocks_its_shard(gateway):
    mapping = stream(gateway)
    assert mapping["BisectBatchOnFunctionError"] is True
    assert 0 < mapping["MaximumRetryAttempts"] <= 10
    assert mapping["MaximumRecordAgeInSeconds"] <= 3600
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_slow_receiver_holds_up_its_own_errand_only(gateway, resolve):
    mapping = errands(gateway, resolve)
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 10


def test_an_errand_under_way_is_not_shown_again_and_outlives_an_attempt(data, gateway):
    timeout = outbox(gateway)["Timeout"]
    assert timeout > 10 + 5
    [queue] = [q for q in data.properties("AWS::SQS::Queue") if q["QueueName"].endswith("-errands")]
    assert queue["VisibilityTimeout"] >= 6 * timeout


def test_the_master_of_all_signatures_survives_its_stack(synthesise):
    data, _ = synthesise("prod")
    [secret] = data.of_type("AWS::SecretsManager::Secret").values()
    assert secret["DeletionPolicy"] == "Retain"
    assert secret["Properties"]["GenerateSecretString"]["PasswordLength"] >= 32
