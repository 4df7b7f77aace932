from __future__ import annotations

import pytest

from taskgate.catalog import CATALOG
from taskgate.settings import STAGES, stage
from taskgate.uploads import MARGIN_MS

TABLE, BUCKET, QUEUE = "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue"
DAY = 24 * 3600


def table(template, name):
    [found] = [
        resource
        for resource in template.of_type(TABLE).values()
        if resource["Properties"]["TableName"].endswith(f"-{name}")
    ]
    return found


def queues(template):
    """The lanes' queues by name, and which one holds the dead letters of which."""
    by_id = {k: r["Properties"] for k, r in template.of_type(QUEUE).items()}
    return {
        properties["QueueName"]: (
            properties,
            by_id[properties["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]],
        )
        for properties in by_id.values()
        if "RedrivePolicy" in properties and not properties["QueueName"].endswith("-errands")
    }


@pytest.mark.parametrize("name", ["staging", "prod"])
def test_records_and_results_survive_the_deletion_of_their_stack(synthesise, name):
    template, _ = synthesise(name)
    tasks = table(template, "tasks")
    [bucket] = template.of_type(BUCKET).values()
    assert tasks["DeletionPolicy"] == tasks["UpdateReplacePolicy"] == "Retain"
    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"
    assert tasks["Properties"]["DeletionProtectionEnabled"] is True
    assert not template.terminates


def test_a_dev_deployment_can_be_deleted_whole(synthesise):
    template, _ = synthesise("dev")
    assert template.terminates
    assert table(template, "tasks")["DeletionPolicy"] == "Delete"
    assert table(template, "tasks")["Properties"]["DeletionProtectionEnabled"] is False


def test_records_can_be_restored_to_any_second(data):
    recovery = table(data, "tasks")["Properties"]["PointInTimeRecoverySpecification"]
    assert recovery == {"PointInTimeRecoveryEnabled": True}


def test_the_stream_of_records_carries_both_images(data):
    stream = table(data, "tasks")["Properties"]["StreamSpecification"]
    assert stream == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_every_index_is_there_from_the_first_release_and_holds_keys_only(data):
    properties = table(data, "tasks")["Properties"]
    kinds = {a["AttributeName"]: a["AttributeType"] for a in properties["AttributeDefinitions"]}
    indexes = {
        index["IndexName"]: tuple(
            (key["AttributeName"], kinds[key["AttributeName"]]) for key in index["KeySchema"]
        )
        for index in properties["GlobalSecondaryIndexes"]
        if index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    }
    assert indexes == {
        "by_user": (("owner", "S"), ("pk", "S")),
        "by_clock": (("clock_shard", "S"), ("due_at", "N")),
        "by_problem": (("problem_day", "S"), ("ended_at", "N")),
    }


@pytest.mark.parametrize("name", ["tasks", "ephemeral"])
def test_tables_cost_by_use_and_forget_what_has_expired(data, name):
    properties = table(data, name)["Properties"]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_the_churn_of_ephemera_feeds_no_stream_and_no_index(data):
    properties = table(data, "ephemeral")["Properties"]
    assert "StreamSpecification" not in properties
    assert "GlobalSecondaryIndexes" not in properties


@pytest.mark.parametrize("name", STAGES)
def test_every_lane_of_the_catalog_has_a_queue_with_dead_letters_of_its_own(synthesise, name):
    found = queues(synthesise(name)[0])
    prefix = stage(name).prefix
    assert set(found) == {f"{prefix}-{lane}" for lane in CATALOG.lanes()}
    assert {dead["QueueName"] for _, dead in found.values()} == {f"{n}-dead" for n in found}


def test_a_dead_letter_outlives_the_message_it_was(data):
    # A moved message keeps its age.
    for queue, dead in queues(data).values():
        assert dead["MessageRetentionPeriod"] - queue["MessageRetentionPeriod"] >= 7 * DAY


@pytest.mark.parametrize("name", STAGES)
def test_a_dead_workers_message_comes_back_when_its_lease_is_over(synthesise, name):
    timing = stage(name).timing
    for queue, _ in queues(synthesise(name)[0]).values():
        assert queue["VisibilityTimeout"] == timing.lease > 2 * timing.beat
        assert queue["VisibilityTimeout"] < timing.restart_within


def test_losing_a_worker_now_and_then_never_makes_a_dead_letter(data):
    for queue, _ in queues(data).values():
        assert queue["RedrivePolicy"]["maxReceiveCount"] >= 10


def test_an_idle_worker_waits_in_the_receive_and_not_in_a_loop(data):
    for queue, _ in queues(data).values():
        assert queue["ReceiveMessageWaitTimeSeconds"] == 20


def test_results_are_private_encrypted_and_sent_over_tls_only(data):
    [bucket] = data.properties(BUCKET)
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert refuses_plain_http(data.properties("AWS::S3::BucketPolicy")[0])


def test_every_queue_is_encrypted_and_spoken_to_over_tls_only(data):
    assert all(queue["SqsManagedSseEnabled"] for queue in data.properties(QUEUE))
    policies = data.properties("AWS::SQS::QueuePolicy")
    assert len(policies) == len(data.properties(QUEUE))
    assert all(map(refuses_plain_http, policies))


def refuses_plain_http(policy) -> bool:
    return any(
        statement["Effect"] == "Deny"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for statement in policy["PolicyDocument"]["Statement"]
    )


@pytest.mark.parametrize("name", STAGES)
def test_a_fresh_upload_outlives_every_task_that_can_start_at_once(synthesise, name):
    [bucket] = synthesise(name)[0].properties(BUCKET)
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    kept = rules["uploads"]["ExpirationInDays"] * DAY
    assert kept == stage(name).upload_days * DAY
    # What would live longer is refused at submit; these must never be.
    assert all(kind.deadline * 1000 + MARGIN_MS < kept * 1000 for kind in CATALOG)


def test_bytes_are_cleared_away_by_age_and_by_kind(data):
    [bucket] = data.properties(BUCKET)
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    settings = stage("prod")
    assert (rules["results"]["Prefix"], rules["uploads"]["Prefix"]) == ("r/", "in/")
    assert rules["results"]["ExpirationInDays"] == settings.result_days
    assert rules["uploads"]["ExpirationInDays"] == settings.upload_days
    unfinished = rules["unfinished-uploads"]["AbortIncompleteMultipartUpload"]
    assert unfinished == {"DaysAfterInitiation": 1}
