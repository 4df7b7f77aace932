"""CloudFront in front of the HTTP API: what it passes on, and how the API knows it by it.

Nothing is cached. Answers are their caller's own, and CloudFront takes no `Authorization` into the
key of what it keeps unless it also keeps it: so it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk_app.findings import acknowledge
from taskgate.edge import Domain
from taskgate.settings import Stage

# Both are spelled in functions/http/door.py, too, which the stacks do not import.
HEADER: Final = "x-taskgate-edge"
VARIABLE: Final = "TASKGATE_EDGE_KEYS"
MANAGED_ELSEWHERE: Final = "a new version is made by a deploy, two being taken for a while"


class EdgeKeys(Construct):
    """The keys that tell CloudFront's requests from others'. Exposes `newest`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        rooms: Sequence[lambda_.Function],
    ) -> None:
        super().__init__(scope, name)
        keys = [self._key(stage, version) for version in stage.edge.key_versions]
        self.newest = keys[0]
        for room in rooms:
            room.add_environment(VARIABLE, ",".join(keys))

    def _key(self, stage: Stage, version: int) -> str:
        secret = secretsmanager.Secret(
            self,
            f"Key{version}",
            secret_name=f"{stage.prefix}-edge-{version}",
            description="Taskgate: what CloudFront shows to the API",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=48, exclude_punctuation=True
            ),
        )
        acknowledge(secret, {"AwsSolutions-SMG4": MANAGED_ELSEWHERE})
        # A dynamic reference: the template holds its name, and AWS fills it in.
        return secret.secret_value.unsafe_unwrap()


class Edge(Construct):
    """The distribution. Exposes `distribution`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        domain: Domain,
        api_host: str,
        key: str,
        after: Sequence[lambda_.Function],
    ) -> None:
        super().__init__(scope, name)
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", domain.certificate)
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment=stage.prefix,
            domain_names=[domain.name],
            certificate=certificate,
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            web_acl_id=stage.edge.web_acl or None,
            default_behavior=_behavior(api_host, key),
            log_bucket=self._log_bucket(stage),
            log_file_prefix="edge/",
            log_includes_cookies=False,
        )
        # The rooms know a new key before CloudFront sends it.
        self.distribution.node.add_dependency(*after)
        reasons = {"AwsSolutions-CFR1": "the API is for callers of every country"}
        if not stage.edge.web_acl:
            reasons["AwsSolutions-CFR2"] = "a web ACL is the stage's setting edge.web_acl"
        acknowledge(self.distribution, reasons)

    def _log_bucket(self, stage: Stage) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Logs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            # CloudFront's standard logs are written by an ACL.
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_PREFERRED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(stage.log_days))],
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        acknowledge(bucket, {"AwsSolutions-S1": "it holds logs, and logs of logs end nowhere"})
        return bucket


def _behavior(api_host: str, key: str) -> cloudfront.BehaviorOptions:
    return cloudfront.BehaviorOptions(
        origin=origins.HttpOrigin(
            api_host,
            protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
            origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
            custom_headers={HEADER: key},
            # Beyond the HTTP API's own 30 s, so that the one nearer to the work answers.
            read_timeout=cdk.Duration.seconds(35),
        ),
        allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
        viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
        cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
        # All headers, Authorization and Prefer among them, and the whole query. Not Host: the HTTP
        # API knows its own name alone.
        origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
        response_headers_policy=cloudfront.ResponseHeadersPolicy.SECURITY_HEADERS,
        compress=False,
    )
