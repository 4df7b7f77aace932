"""Bare tables, lanes and a bucket, for tests against moto or an emulator without a deployed stack.

`tests/infra` proves that the stacks make the same keys and indexes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

import boto3

from taskgate.catalog import CATALOG
from taskgate.settings import Environment

INDEXES: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "by_user": (("owner", "S"), ("pk", "S")),
    "by_clock": (("clock_shard", "S"), ("due_at", "N")),
    "by_problem": (("problem_day", "S"), ("ended_at", "N")),
}


def create(name: str, *, lease: int = 45, beat: int = 15) -> Environment:
    """Make everything that an `Environment` names, all names starting with `name`."""
    with closing(boto3.client("dynamodb")) as dynamodb:
        dynamodb.create_table(**tasks_table(f"{name}-tasks"))
        dynamodb.create_table(**ephemeral_table(f"{name}-ephemeral"))
    with closing(boto3.client("s3")) as s3:
        s3.create_bucket(Bucket=f"{name}-results", **_location(s3.meta.region_name))
    with closing(boto3.client("sqs")) as sqs:
        lanes = {lane: _queue(sqs, f"{name}-{lane}", lease) for lane in CATALOG.lanes()}
    return Environment(
        stage="local",
        tasks_table=f"{name}-tasks",
        ephemeral_table=f"{name}-ephemeral",
        results_bucket=f"{name}-results",
        lanes=lanes,
        clock_shards=16,
        beat=beat,
        lease=lease,
        send_check=30,
        stall_grace=60,
        cancel_grace=30,
    )


def tasks_table(name: str) -> dict[str, Any]:
    """CreateTable arguments of the records' table."""
    kinds = {"pk": "S", "sk": "S"} | {a: kind for keys in INDEXES.values() for a, kind in keys}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": a, "AttributeType": kind} for a, kind in kinds.items()
        ],
        "KeySchema": _keys("pk", "sk"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": _keys(partition, sort),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for index, ((partition, _), (sort, _)) in INDEXES.items()
        ],
    }


def ephemeral_table(name: str) -> dict[str, Any]:
    """CreateTable arguments of the ephemeral table."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": _keys("pk"),
    }


def _location(region: str) -> dict[str, Any]:
    # us-east-1 is the one region whose name S3 does not take.
    if region == "us-east-1":
        return {}
    return {"CreateBucketConfiguration": {"LocationConstraint": region}}


def _keys(partition: str, sort: str | None = None) -> list[dict[str, str]]:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    return keys + ([{"AttributeName": sort, "KeyType": "RANGE"}] if sort else [])


def _queue(sqs: Any, name: str, lease: int) -> str:
    attributes = {"VisibilityTimeout": str(lease)}
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
