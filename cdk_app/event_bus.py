"""The bus that other systems listen to, and the function that tells it of every transition."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.findings import acknowledge_wildcard
from cdk_app.function import LIST_STREAMS, FunctionCode, TaskgateFunction, allow
from taskgate.settings import Stage


class EventBus(Construct):
    """Made only for a stage with `event_bus`. Exposes `bus` and `function`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        self.bus = events.EventBus(self, "Bus", event_bus_name=stage.event_bus_name)
        made = TaskgateFunction(
            self,
            "Function",
            stage=stage,
            code=code,
            room="event_bus",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data, self.bus),
            memory=256,
            timeout=30,
        )
        self.function = made.function
        acknowledge_wildcard(made.role, "*", LIST_STREAMS)
        # The stream's second reader, and with the outbox its last: a shard takes two.
        lambda_.EventSourceMapping(
            self,
            "Stream",
            target=self.function,
            event_source_arn=data.tasks.table.table_stream_arn,
            starting_position=lambda_.StartingPosition.LATEST,
            batch_size=100,
            filters=[
                lambda_.FilterCriteria.filter({"dynamodb": {"Keys": {"sk": {"S": ["TASK"]}}}})
            ],
            retry_attempts=10,
            max_record_age=cdk.Duration.hours(6),
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
        )


def _statements(data: DataStack, bus: events.EventBus) -> list[iam.PolicyStatement]:
    return [
        allow(
            ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            [str(data.tasks.table.table_stream_arn)],
        ),
        # ListStreams takes no resource; Lambda asks for it before it reads the stream.
        allow(["dynamodb:ListStreams"], ["*"]),
        allow(["events:PutEvents"], [bus.event_bus_arn]),
    ]
