"""What answers and what watches: the API, its authorizer and the stale sweep."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from cdk_app import api_domain
from cdk_app.admin_function import AdminFunction
from cdk_app.api_function import ApiFunction
from cdk_app.authorizer import Authorizer
from cdk_app.data_stack import DataStack
from cdk_app.dead_letters import DeadLetters
from cdk_app.edge import Edge, EdgeKeys
from cdk_app.event_bus import EventBus
from cdk_app.function import FunctionCode
from cdk_app.http_api import HttpApi
from cdk_app.outbox_callback import OutboxCallback
from cdk_app.reconcile import Reconcile
from cdk_app.stale_sweep import StaleSweep
from taskgate.settings import Stage


class GatewayStack(cdk.Stack):
    """The functions and what calls them; holds no data, so it can be made anew at any time."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        data: DataStack,
        code: FunctionCode,
        synthesizer: cdk.IStackSynthesizer | None,
    ) -> None:
        super().__init__(
            scope,
            name,
            stack_name=f"{stage.prefix}-gateway",
            description="Taskgate: API, authorizer and stale sweep",
            synthesizer=synthesizer,
        )
        self.api_function = ApiFunction(self, "ApiFunction", stage=stage, code=code, data=data)
        self.reconcile = Reconcile(self, "Reconcile", stage=stage, code=code, data=data)
        self.admin_function = AdminFunction(
            self,
            "AdminFunction",
            stage=stage,
            code=code,
            data=data,
            prover_arn=self.reconcile.function.function_arn,
        )
        self.authorizer = Authorizer(self, "Authorizer", stage=stage, code=code, data=data)
        self.stale_sweep = StaleSweep(self, "StaleSweep", stage=stage, code=code, data=data)
        self.dead_letters = DeadLetters(self, "DeadLetters", stage=stage, code=code, data=data)
        self.outbox = OutboxCallback(self, "Outbox", stage=stage, code=code, data=data)
        self.event_bus = self._event_bus(stage, code, data)
        self.http_api = self._http_api(stage)
        self.edge = self._edge(stage)
        cdk.CfnOutput(self, "ApiUrl", value=self.http_api.url)
        cdk.CfnOutput(self, "ApiId", value=self.http_api.api.api_id)

    def _event_bus(self, stage: Stage, code: FunctionCode, data: DataStack) -> EventBus | None:
        if not stage.event_bus:
            return None
        return EventBus(self, "EventBus", stage=stage, code=code, data=data)

    def _http_api(self, stage: Stage) -> HttpApi:
        """Each route goes to the room that serves it."""
        return HttpApi(
            self,
            "HttpApi",
            stage=stage,
            functions={
                "api": self.api_function.function,
                "admin": self.admin_function.function,
            },
            authorizer=self.authorizer.authorizer,
        )

    def _edge(self, stage: Stage) -> Edge | None:
        domain = stage.edge.domain
        if domain is None or not stage.edge.cloudfront:
            return None
        rooms = [self.api_function.function, self.admin_function.function]
        keys = EdgeKeys(self, "EdgeKeys", stage=stage, rooms=rooms)
        edge = Edge(
            self,
            "Edge",
            stage=stage,
            domain=domain,
            api_host=self.http_api.host,
            key=keys.newest,
            after=rooms,
        )
        api_domain.record(edge, domain, targets.CloudFrontTarget(edge.distribution))
        cdk.CfnOutput(self, "EdgeHost", value=edge.distribution.distribution_domain_name)
        return edge
