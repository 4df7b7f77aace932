"""What a worker of one pool may do, and what ECS may do to start it."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.findings import acknowledge_wildcard
from cdk_app.function import allow
from cdk_app.results_bucket import KEYS_OF_RESULTS, KEYS_OF_UPLOADS
from taskgate.settings import PRIORITIES


class WorkerRole(Construct):
    """The worker's own rights. Exposes `role`."""

    def __init__(
        self, scope: Construct, name: str, *, data: DataStack, pool: str, cluster_name: str
    ) -> None:
        super().__init__(scope, name)
        self.role = iam.Role(self, "Role", assumed_by=_tasks_of_this_account(self))
        for statement in (*_statements(data, pool), _protection(self, cluster_name)):
            self.role.add_to_principal_policy(statement)
        for arn, reason in (
            (data.results.results_arn, KEYS_OF_RESULTS),
            (data.results.uploads_arn, KEYS_OF_UPLOADS),
            (
                _tasks_arn(self, cluster_name),
                "a worker protects the ECS task that it is, by its id",
            ),
        ):
            acknowledge_wildcard(self.role, arn, reason)


class StarterRole(Construct):
    """What ECS needs before the container runs: the image, and the log. Exposes `role`."""

    def __init__(
        self, scope: Construct, name: str, *, repository_arn: str, log_group: logs.LogGroup
    ) -> None:
        super().__init__(scope, name)
        self.role = iam.Role(self, "Role", assumed_by=_tasks_of_this_account(self))
        pull = [
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ]
        for statement in (
            allow(pull, [repository_arn]),
            allow(["ecr:GetAuthorizationToken"], ["*"]),
            allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group.log_group_arn]),
        ):
            self.role.add_to_principal_policy(statement)
        acknowledge_wildcard(self.role, "*", "ecr:GetAuthorizationToken takes no resource")


def _statements(data: DataStack, pool: str) -> list[iam.PolicyStatement]:
    return [*_on_records(data), *_on_queues(data, pool), *_on_bytes(data)]


def _on_records(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        # A transaction needs the right of each action in it, and no right of its own.
        allow(
            ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
            [data.tasks.table.table_arn],
            # Models run here: nothing that gets into one can read a key or issue one.
            keys=["TASK#*", "LEDGER#*"],
        ),
        # What operators paused is minded here, and turned elsewhere.
        allow(["dynamodb:GetItem"], [data.tasks.table.table_arn], keys=["SWITCHES"]),
        allow(
            # A take-over holds only if the pulse is still as old as the worker saw it; who enters the
            # roster looks which of the others are still there.
            [
                "dynamodb:BatchGetItem",
                "dynamodb:ConditionCheckItem",
                "dynamodb:GetItem",
                "dynamodb:UpdateItem",
            ],
            [data.ephemeral.table.table_arn],
        ),
    ]


def _on_queues(data: DataStack, pool: str) -> list[iam.PolicyStatement]:
    lanes = [data.lanes.queues[f"{pool}-{priority}"].queue_arn for priority in PRIORITIES]
    return [
        allow(
            [
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
            ],
            lanes,
        ),
        allow(["sqs:SendMessage"], [data.errands.queue.queue_arn]),
    ]


def _on_bytes(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        # A task of a chain reads the results that it was given.
        allow(
            ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"],
            [data.results.results_arn],
        ),
        allow(["s3:GetObject"], [data.results.uploads_arn]),
    ]


def _protection(scope: Construct, cluster_name: str) -> iam.PolicyStatement:
    """The agent tells ECS in the task's own name."""
    return allow(
        ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"], [_tasks_arn(scope, cluster_name)]
    )


def _tasks_arn(scope: Construct, cluster_name: str) -> str:
    return cdk.Stack.of(scope).format_arn(
        service="ecs", resource="task", resource_name=f"{cluster_name}/*"
    )


def _tasks_of_this_account(scope: Construct) -> iam.IPrincipal:
    account = cdk.Stack.of(scope).account
    return iam.ServicePrincipal(
        "ecs-tasks.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": account}}
    )
