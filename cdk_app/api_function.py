"""The function behind every route: it keeps records, queues tasks and signs result links."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.findings import acknowledge_wildcard
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from cdk_app.results_bucket import KEYS_OF_RESULTS, KEYS_OF_UPLOADS
from taskgate.settings import Stage

ITEMS = (
    "TASK#*", "LEDGER#*", "IDEM#*", "PULSE#*", "RATE#*", "RECEIVER#*", "SALVAGE#*", "WORKER#*",
    "WORKERS#*",
    "SPREAD#*",
)  # fmt: skip
"""Partition keys of what it works on, in both tables. Keys and plans are none of its business, so
that nothing that gets into this room can issue a key or read one."""


class ApiFunction(Construct):
    """The API's function. Exposes `function`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        made = TaskgateFunction(
            self,
            "Api",
            stage=stage,
            code=code,
            room="api",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data),
            memory=1024,
            timeout=29,  # below the HTTP API's own 30 s, so that the function gives the answer
        )
        self.function = made.function
        acknowledge_wildcard(made.role, data.results.results_arn, KEYS_OF_RESULTS)
        acknowledge_wildcard(made.role, data.results.uploads_arn, KEYS_OF_UPLOADS)


def _statements(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        # A transaction needs the right of each action in it, and no right of its own.
        allow(
            [
                "dynamodb:BatchGetItem",
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
            ],
            [data.tasks.table.table_arn],
            keys=ITEMS,
        ),
        # The books of a user, however many items they are kept in.
        allow(["dynamodb:Query"], [data.tasks.table.table_arn], keys=["LEDGER#*"]),
        # What operators paused is minded here, and turned elsewhere.
        allow(["dynamodb:GetItem"], [data.tasks.table.table_arn], keys=["SWITCHES"]),
        # The index lists keys and plans as well, under names that no user can have.
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_user")], unlike=["#*"]),
        allow(
            # `explain` reads the breaker of a receiver that still waits for a callback; a submit
            # looks for a kept result in its own transaction.
            [
                "dynamodb:BatchGetItem",
                "dynamodb:ConditionCheckItem",
                "dynamodb:GetItem",
                "dynamodb:UpdateItem",
            ],
            [data.ephemeral.table.table_arn],
            keys=ITEMS,
        ),
        # A lane's count, for `explain` and `queues`.
        allow(["sqs:GetQueueAttributes", "sqs:SendMessage"], data.lanes.arns),
        # Links are signed with this role, and so are upload forms: they can do no more than it.
        # A kept result is copied for the task that is given it.
        allow(["s3:GetObject", "s3:PutObject"], [data.results.results_arn]),
        allow(["s3:GetObject", "s3:PutObject"], [data.results.uploads_arn]),
        # A tenant reads the secrets that are derived from it, and cursors are sealed by another.
        allow(["secretsmanager:GetSecretValue"], [data.webhook_master.arn]),
    ]
