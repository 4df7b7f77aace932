"""The master key of all callback signatures. Every tenant's secret is derived from it."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk_app.findings import acknowledge
from taskgate.settings import Stage


class WebhookMaster(Construct):
    """One secret, made once. Losing it would void every receiver's secret: it is retained.

    Exposes `name` and `arn`, whose end stands for the six characters that Secrets Manager adds.
    """

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.name = f"{stage.prefix}-webhook-master"
        self.arn = cdk.Stack.of(self).format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"{self.name}-??????",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        secret = secretsmanager.Secret(
            self,
            "Secret",
            secret_name=self.name,
            description="Taskgate: master key of callback signatures",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=64, exclude_punctuation=True
            ),
            removal_policy=(
                cdk.RemovalPolicy.RETAIN if stage.retain_data else cdk.RemovalPolicy.DESTROY
            ),
        )
        acknowledge(
            secret,
            {
                "AwsSolutions-SMG4": (
                    "tenants' secrets are derived from it and rotate by version, two signing for a "
                    "while; a new master would void every receiver's secret at once"
                )
            },
        )
