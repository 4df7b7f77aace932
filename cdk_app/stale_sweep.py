"""The stale sweep: once a minute it looks at every live task whose clock is due."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from taskgate.settings import Stage

ITEMS = ("TASK#*", "LEDGER#*", "PULSE#*")
"""Partition keys of what it works on, in both tables."""


class StaleSweep(Construct):
    """The sweep's function and its schedule. Exposes `function` and `rule`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        period = cdk.Duration.seconds(stage.timing.sweep_every)
        self.function = TaskgateFunction(
            self,
            "Sweep",
            stage=stage,
            code=code,
            room="stale_sweep",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data),
            memory=512,
            timeout=stage.timing.sweep_every - 5,
            # Two runs at once are harmless, more would only read the same clocks.
            reserved_concurrency=None if stage.emulator else 2,
        ).function
        # A run that could not start is not tried again: the next minute's run does its work.
        self.function.configure_async_invoke(retry_attempts=0, max_event_age=period)
        self.rule = events.Rule(
            self,
            "Schedule",
            rule_name=f"{stage.prefix}-stale-sweep",
            description="Wakes the stale sweep",
            schedule=events.Schedule.rate(period),
            targets=[targets.LambdaFunction(self.function, retry_attempts=2, max_event_age=period)],
        )


def _statements(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_clock")], keys=["live#*", "bulk"]),
        # Bulk acts find their tasks by a user and by a day of problems, too.
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_problem")]),
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_user")], unlike=["#*"]),
        allow(
            ["dynamodb:GetItem", "dynamodb:PutItem"], [data.tasks.table.table_arn], keys=["BULK#*"]
        ),
        allow(
            ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
            [data.tasks.table.table_arn],
            keys=ITEMS,
        ),
        # What operators paused is minded here, and turned elsewhere.
        allow(["dynamodb:GetItem"], [data.tasks.table.table_arn], keys=["SWITCHES"]),
        allow(
            # A stall or rescue holds only if the pulse is still what the sweep saw.
            ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:UpdateItem"],
            [data.ephemeral.table.table_arn],
            keys=ITEMS,
        ),
        # It counts what there is to do: workers are scaled by that.
        allow(["sqs:GetQueueAttributes", "sqs:SendMessage"], data.lanes.arns),
        allow(["sqs:SendMessage"], [data.errands.queue.queue_arn]),
    ]
