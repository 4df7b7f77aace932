"""Who calls: the function that knows API keys, and the authorizer that remembers its answers."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from taskgate.settings import Stage


class Authorizer(Construct):
    """The authorizer of all routes that are not public. Exposes `authorizer` and `function`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        self.function = TaskgateFunction(
            self,
            "Authorizer",
            stage=stage,
            code=code,
            room="authorizer",
            environment=data.environment_contract.as_variables(),
            statements=[
                allow(["dynamodb:GetItem"], [data.tasks.table.table_arn], keys=["KEY#*", "PLAN#*"])
            ],
            memory=512,
            timeout=10,  # the HTTP API waits no longer for an authorizer
        ).function
        # The answer is remembered by the header alone, so it must never depend on the route:
        # scopes are checked in the API. A missing header is 401 without a call.
        self.authorizer = authorizers.HttpLambdaAuthorizer(
            "ApiKey",
            self.function,
            response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
            identity_source=["$request.header.Authorization"],
            results_cache_ttl=cdk.Duration.seconds(stage.key_cache),
        )
