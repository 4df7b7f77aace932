"""The outbox: settles what ended tasks owe. Woken by the stream, by errands, and each minute."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.errands import VISIBILITY
from cdk_app.findings import acknowledge_wildcard
from cdk_app.function import LIST_STREAMS, FunctionCode, TaskgateFunction, allow
from cdk_app.results_bucket import KEYS_OF_RESULTS
from taskgate.settings import Stage

TIMEOUT = VISIBILITY // 6
# Attempts under way at once. One errand an invocation: a slow receiver holds up only itself.
CONCURRENCY = 20
# Records of a shard that cannot be passed on are left to the clock after this, not to block it.
STREAM_RETRIES = 5

ITEMS = ("TASK#*", "LEDGER#*", "PULSE#*", "RECEIVER#*")
"""Partition keys of what it works on, in both tables."""


class OutboxCallback(Construct):
    """The function with its three triggers. Exposes `function`, `rule` and `stream`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        made = TaskgateFunction(
            self,
            "Function",
            stage=stage,
            code=code,
            room="outbox_callback",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data),
            memory=512,
            timeout=TIMEOUT,
        )
        self.function = made.function
        acknowledge_wildcard(made.role, data.results.results_arn, KEYS_OF_RESULTS)
        acknowledge_wildcard(made.role, "*", LIST_STREAMS)
        self.stream = self._stream(data)
        self._errands(data)
        self.rule = self._schedule(stage)

    def _stream(self, data: DataStack) -> lambda_.EventSourceMapping:
        return lambda_.EventSourceMapping(
            self,
            "Stream",
            target=self.function,
            event_source_arn=data.tasks.table.table_stream_arn,
            starting_position=lambda_.StartingPosition.LATEST,
            batch_size=100,
            filters=[
                lambda_.FilterCriteria.filter(
                    {"dynamodb": {"NewImage": {"clock_shard": {"S": [{"prefix": "owed#"}]}}}}
                )
            ],
            retry_attempts=STREAM_RETRIES,
            max_record_age=cdk.Duration.hours(1),
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
        )

    def _errands(self, data: DataStack) -> None:
        lambda_.EventSourceMapping(
            self,
            "Errands",
            target=self.function,
            event_source_arn=data.errands.queue.queue_arn,
            batch_size=1,
            max_concurrency=CONCURRENCY,
            report_batch_item_failures=True,
        )

    def _schedule(self, stage: Stage) -> events.Rule:
        period = cdk.Duration.minutes(1)
        self.function.configure_async_invoke(retry_attempts=0, max_event_age=period)
        return events.Rule(
            self,
            "Schedule",
            rule_name=f"{stage.prefix}-outbox-callback",
            description="Wakes the outbox, the backstop of its stream",
            schedule=events.Schedule.rate(period),
            targets=[targets.LambdaFunction(self.function, retry_attempts=2, max_event_age=period)],
        )


def _statements(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        *_on_records(data),
        *_on_the_stream(data),
        *_on_queues(data),
        *_on_results_and_secrets(data),
    ]


def _on_records(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_clock")], keys=["owed#*"]),
        allow(
            # Both tables in one batch: a task and how far it is, for news of it.
            [
                "dynamodb:BatchGetItem",
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
            ],
            [data.tasks.table.table_arn],
            keys=ITEMS,
        ),
        allow(
            ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
            [data.ephemeral.table.table_arn],
            keys=ITEMS,
        ),
    ]


def _on_the_stream(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(
            ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            [str(data.tasks.table.table_stream_arn)],
        ),
        # ListStreams takes no resource; Lambda asks for it before it reads the stream.
        allow(["dynamodb:ListStreams"], ["*"]),
    ]


def _on_queues(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(["sqs:SendMessage"], data.lanes.arns),
        allow(
            [
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
            ],
            [data.errands.queue.queue_arn],
        ),
    ]


def _on_results_and_secrets(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(["s3:DeleteObject"], [data.results.results_arn]),
        _list_results(data.results.bucket.bucket_arn),
        allow(["secretsmanager:GetSecretValue"], [data.webhook_master.arn]),
    ]


def _list_results(bucket_arn: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["s3:ListBucket"],
        resources=[bucket_arn],
        conditions={"StringLike": {"s3:prefix": ["r/*"]}},
    )
