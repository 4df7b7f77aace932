"""Alarms on what AWS itself measures of the tables and their stream."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_

from cdk_app.alarms import MISHAP, Alarms
from cdk_app.measures import FIVE_MINUTES, MINUTE, added_up

STREAM_AGE_SECONDS = 60
CONFLICTS = 100


def watch_throttles(made: Alarms, name: str, table: dynamodb.ITable, index: str = "") -> None:
    """Reads and writes that a table, or one index of it, refused.

    An index that cannot take writes throttles the writes of its table, whatever the table could take:
    so each has an alarm of its own, which names the culprit.
    """
    dimensions = {"TableName": table.table_name}
    if index:
        dimensions["GlobalSecondaryIndexName"] = index
    parts = {
        kind.lower(): cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=f"{kind}ThrottleEvents",
            dimensions_map=dimensions,
            statistic="Sum",
            period=FIVE_MINUTES,
        )
        for kind in ("Read", "Write")
    }
    what = f"index {index} of table {name}" if index else f"table {name}"
    made.add(
        f"throttled-{index.replace('_', '-') or name}",
        f"The {what} refuses requests.",
        added_up(parts, FIVE_MINUTES, "refused"),
        silence=MISHAP,
        periods=2,
        page="throttled",
    )


def watch_conflicts(made: Alarms, table: dynamodb.ITable) -> None:
    """Transactions that met another on the same item. A few are retried and noticed by nobody."""
    made.add(
        "conflicts",
        f"More than {CONFLICTS} transactions met others within five minutes, for a quarter of an hour.",
        table.metric("TransactionConflict", statistic="Sum", period=FIVE_MINUTES),
        silence=MISHAP,
        threshold=CONFLICTS,
        periods=3,
    )


def watch_stream(made: Alarms, room: str, function: lambda_.IFunction) -> None:
    """A reader of the table's stream that falls behind: what it would tell is told late."""
    made.add(
        f"stream-late-{room}",
        f"{room} is behind the table's stream by more than {STREAM_AGE_SECONDS} s.",
        function.metric("IteratorAge", statistic="Maximum", period=MINUTE),
        silence=MISHAP,
        threshold=STREAM_AGE_SECONDS * 1000,
        periods=5,
        page="stream-late",
    )
