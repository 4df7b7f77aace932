"""The ephemera: pulses, rates, locks and marks. Nothing here is missed when it is lost."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from cdk_app.findings import acknowledge
from taskgate.settings import Stage


class EphemeralTable(Construct):
    """The ephemeral table, apart from the records so that its churn stays out of their stream."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.table = dynamodb.Table(
            self,
            "Table",
            table_name=f"{stage.prefix}-ephemeral",
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="expires_at",
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(self.table, {"AwsSolutions-DDB3": "nothing in it is missed when it is lost"})
