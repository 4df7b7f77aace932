"""The hourly check that every task is accounted for. It may write what it found, and nothing else."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from taskgate.settings import Stage

PERIOD = cdk.Duration.hours(1)
TIMEOUT = 14 * 60
RECORD = "RECONCILE"
"""Partition key of what the last run found."""


class Reconcile(Construct):
    """The check's function and its schedule. Exposes `function` and `rule`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        self.function = TaskgateFunction(
            self,
            "Function",
            stage=stage,
            code=code,
            room="reconcile",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data.tasks.table.table_arn),
            memory=512,
            timeout=TIMEOUT,
            reserved_concurrency=None if stage.emulator else 1,
        ).function
        self.function.configure_async_invoke(retry_attempts=0, max_event_age=PERIOD)
        self.rule = events.Rule(
            self,
            "Schedule",
            rule_name=f"{stage.prefix}-reconcile",
            description="Wakes the check that every task is accounted for",
            schedule=events.Schedule.rate(PERIOD),
            targets=[targets.LambdaFunction(self.function, retry_attempts=2, max_event_age=PERIOD)],
        )


def _statements(table_arn: str) -> list[iam.PolicyStatement]:
    return [
        # The record of what it found: the one item that it may write.
        allow(["dynamodb:UpdateItem"], [table_arn], keys=[RECORD]),
        # A scan names no key, so that none can be held against it.
        allow(["dynamodb:Scan"], [table_arn]),
        # A snapshot by transaction needs the right of each read in it, and no other.
        allow(["dynamodb:GetItem"], [table_arn], keys=["TASK#*", "LEDGER#*"]),
    ]
