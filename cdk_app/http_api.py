"""The HTTP API: exactly the routes that the rooms serve, its throttle and its access log."""

from __future__ import annotations

import json
from collections.abc import Mapping

import aws_cdk as cdk
import jsii
from aws_cdk import aws_apigateway
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from cdk_app import api_domain, cors
from cdk_app.findings import acknowledge
from cdk_app.function import retention
from taskgate.edge import Domain
from taskgate.routes import ROUTES, Route
from taskgate.settings import Stage

ACCESS_LOG = {
    "request_id": "$context.requestId",
    "at": "$context.requestTimeEpoch",
    "ip": "$context.identity.sourceIp",
    "route": "$context.routeKey",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "latency_ms": "$context.responseLatency",
    "function_ms": "$context.integrationLatency",
    "tenant": "$context.authorizer.tenant",
    "authorizer_error": "$context.authorizer.error",
    "error": "$context.error.message",
    "function_error": "$context.integrationErrorMessage",
}


@jsii.implements(apigateway.IAccessLogSettings)
class _AccessLog:
    """One JSON object a request, so that the log can be queried by field."""

    def __init__(self, log_group: logs.ILogGroup) -> None:
        self._destination = apigateway.LogGroupLogDestination(log_group)

    @property
    def destination(self) -> apigateway.IAccessLogDestination:
        return self._destination

    @property
    def format(self) -> aws_apigateway.AccessLogFormat:
        return aws_apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG))


class HttpApi(Construct):
    """The API. Exposes `api` and `url`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        functions: Mapping[str, lambda_.IFunction],
        authorizer: apigateway.IHttpRouteAuthorizer,
    ) -> None:
        super().__init__(scope, name)
        self.api = self._api(stage)
        self._add_routes(functions, authorizer)
        domain = stage.edge.domain
        self._own_name = (
            api_domain.on_the_api(self, domain) if domain and not stage.edge.cloudfront else None
        )
        made = self._default_stage(stage)
        self.url = f"https://{domain.name}/" if domain else made.url
        if domain and self._own_name:
            self._record(domain, self._own_name)

    @property
    def host(self) -> str:
        """The API's own AWS address."""
        stack = cdk.Stack.of(self)
        return f"{self.api.api_id}.execute-api.{stack.region}.{stack.url_suffix}"

    def _api(self, stage: Stage) -> apigateway.HttpApi:
        return apigateway.HttpApi(
            self,
            "Api",
            api_name=stage.prefix,
            description="Taskgate: long tasks over HTTP",
            create_default_stage=False,
            cors_preflight=cors.of_api(stage.edge.origins),
            # CloudFront has no other name to call it by: there the rooms look at its key.
            disable_execute_api_endpoint=(
                True if stage.edge.domain and not stage.edge.cloudfront else None
            ),
        )

    def _add_routes(
        self,
        functions: Mapping[str, lambda_.IFunction],
        authorizer: apigateway.IHttpRouteAuthorizer,
    ) -> None:
        rooms = {room: _integration(room, function) for room, function in functions.items()}
        for route in ROUTES:
            added = self.api.add_routes(
                path=route.path,
                methods=[apigateway.HttpMethod[route.method]],
                integration=rooms[route.room],
                authorizer=_authorizer(route, authorizer),
            )
            if route.public:
                for one in added:
                    acknowledge(one, {"AwsSolutions-APIG4": "it tells what anybody may know"})

    def _record(self, domain: Domain, own: apigateway.DomainName) -> None:
        """The domain's entry in its zone leads to the API."""
        target = targets.ApiGatewayv2DomainProperties(
            own.regional_domain_name, own.regional_hosted_zone_id
        )
        api_domain.record(self, domain, target)

    def _default_stage(self, stage: Stage) -> apigateway.HttpStage:
        log_group = logs.LogGroup(
            self,
            "AccessLogs",
            log_group_name=f"/taskgate/{stage.prefix}-access",
            retention=retention(stage.log_days),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        return apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            domain_mapping=(
                apigateway.DomainMappingOptions(domain_name=self._own_name)
                if self._own_name
                else None
            ),
            throttle=apigateway.ThrottleSettings(
                rate_limit=stage.requests_per_second, burst_limit=stage.requests_burst
            ),
            access_log_settings=_AccessLog(log_group),
        )


def _integration(room: str, function: lambda_.IFunction) -> integrations.HttpLambdaIntegration:
    # One permission for the API: one for each route would fill the function's policy.
    name = "Function" if room == "api" else f"{room.title()}Function"
    return integrations.HttpLambdaIntegration(name, function, scope_permission_to_route=False)


def _authorizer(
    route: Route, authorizer: apigateway.IHttpRouteAuthorizer
) -> apigateway.IHttpRouteAuthorizer:
    return apigateway.HttpNoneAuthorizer() if route.public else authorizer
