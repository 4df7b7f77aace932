"""The function behind the operators' routes: what it may do, the API's own function may not."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from cdk_app.reconcile import RECORD
from taskgate.settings import Stage

ITEMS = ("TASK#*", "PULSE#*")
"""Partition keys of what it shows, in both tables. It changes no task: that is the API's to do,
and the sweep's for bulk acts that were confirmed here."""
KEPT = ("KEY#*", "PLAN#*", "BULK#*", "SWITCHES")
"""Partition keys of what it keeps."""
LISTS = ("#keys", "#plans", "#bulks")
"""Where what it keeps is listed, in the index of users; no user's name begins so."""


class AdminFunction(Construct):
    """The admin room's function. Exposes `function`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        code: FunctionCode,
        data: DataStack,
        prover_arn: str,
    ) -> None:
        super().__init__(scope, name)
        self.function = TaskgateFunction(
            self,
            "Function",
            stage=stage,
            code=code,
            room="admin",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data, prover_arn),
            memory=1024,
            timeout=29,  # below the HTTP API's own 30 s, so that the function gives the answer
        ).function


def _statements(data: DataStack, prover_arn: str) -> list[iam.PolicyStatement]:
    table = data.tasks.table.table_arn
    return [
        allow(["dynamodb:BatchGetItem"], [table, data.ephemeral.table.table_arn], keys=ITEMS),
        allow(["dynamodb:GetItem", "dynamodb:PutItem"], [table], keys=KEPT),
        # Of the check: what it found is read, and that one more is asked for is noted.
        allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [table], keys=[RECORD]),
        allow(["lambda:InvokeFunction"], [prover_arn]),
        # The books of a user, however many items they are kept in.
        allow(["dynamodb:Query"], [table], keys=["LEDGER#*"]),
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_user")], keys=LISTS),
        # A dry run of a bulk act finds a user's tasks.
        allow(["dynamodb:Query"], [data.tasks.index_arn("by_user")], unlike=["#*"]),
        allow(
            ["dynamodb:Query"],
            [data.tasks.index_arn("by_clock"), data.tasks.index_arn("by_problem")],
        ),
        # Receivers out of reach have no index: somebody asks for them a few times a month.
        allow(["dynamodb:Scan"], [data.ephemeral.table.table_arn]),
        # Cursors are sealed by a key that is derived from it.
        allow(["secretsmanager:GetSecretValue"], [data.webhook_master.arn]),
    ]
