"""A function as all of ours are made: one bundle, own log group, own role, no more rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk_app.findings import acknowledge
from cdk_app.target import Target
from taskgate.settings import Stage

LIST_STREAMS = "dynamodb:ListStreams takes no resource; Lambda asks for it before it reads a stream"


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """The bundle as an asset, and the target that it was built for."""

    code: lambda_.Code
    target: Target

    @property
    def runtime(self) -> lambda_.Runtime:
        """The Lambda runtime of the bundle's Python."""
        return lambda_.Runtime(f"python{self.target.python}", lambda_.RuntimeFamily.PYTHON)

    @property
    def architecture(self) -> lambda_.Architecture:
        """The processor that the bundle's wheels are for."""
        arm = self.target.machine == "aarch64"
        return lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64


class TaskgateFunction(Construct):
    """One function with its log group and its role. Exposes `function`, `role` and its `room`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        code: FunctionCode,
        room: str,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        memory: int,
        timeout: int,
        reserved_concurrency: int | None = None,
    ) -> None:
        super().__init__(scope, name)
        self.room = room
        function_name = f"{stage.prefix}-{room.replace('_', '-')}"
        log_group = self._log_group(function_name, stage)
        self.role = self._role(log_group, statements)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=function_name,
            runtime=code.runtime,
            architecture=code.architecture,
            code=code.code,
            handler=f"functions.{room}.handler.handler",
            role=self.role,
            log_group=log_group,
            environment=dict(environment),
            memory_size=memory,
            timeout=cdk.Duration.seconds(timeout),
            reserved_concurrent_executions=reserved_concurrency,
        )
        acknowledge(
            self.function,
            {"AwsSolutions-L1": "the bundle is compiled for this Python: see cdk_app/target.py"},
        )

    def _log_group(self, function_name: str, stage: Stage) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/taskgate/{function_name}",
            retention=retention(stage.log_days),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )

    def _role(
        self, log_group: logs.LogGroup, statements: Sequence[iam.PolicyStatement]
    ) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        # Not the managed policy: that one may write to every log group of the account.
        write = allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group.log_group_arn])
        for statement in (write, *statements):
            role.add_to_principal_policy(statement)
        return role


def allow(
    actions: Sequence[str],
    resources: Sequence[str],
    *,
    keys: Sequence[str] = (),
    unlike: Sequence[str] = (),
) -> iam.PolicyStatement:
    """A statement that allows exactly these actions on exactly these resources.

    With `keys`, only on items whose partition key fits one of the patterns, or none of `unlike`.
    """
    conditions = {
        f"ForAllValues:{operator}": {"dynamodb:LeadingKeys": list(patterns)}
        for operator, patterns in (("StringLike", keys), ("StringNotLike", unlike))
        if patterns
    }
    return iam.PolicyStatement(
        actions=list(actions), resources=list(resources), conditions=conditions or None
    )


def retention(days: int) -> logs.RetentionDays:
    """The CDK's word for a number of days; an unlisted number names the bound."""
    words = {
        1: logs.RetentionDays.ONE_DAY,
        7: logs.RetentionDays.ONE_WEEK,
        30: logs.RetentionDays.ONE_MONTH,
        90: logs.RetentionDays.THREE_MONTHS,
        365: logs.RetentionDays.ONE_YEAR,
    }
    if days not in words:
        raise ValueError(f"log_days is {days}; it must be one of {', '.join(map(str, words))}")
    return words[days]
