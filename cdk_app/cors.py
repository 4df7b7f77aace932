"""Who may ask from a browser: the rules of the HTTP API and of the bucket, from one setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_s3 as s3

from taskgate.routes import ROUTES

ASKED_WITH: Final = (
    "Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Prefer",
    "Taskgate-On-Behalf-Of", "traceparent", "tracestate",
)  # fmt: skip
SHOWN: Final = (
    "Location", "Retry-After", "ETag", "Idempotent-Replayed", "Preference-Applied",
    "traceresponse",
)  # fmt: skip
"""Headers of answers that a page may read."""
KNOWN_FOR: Final = 3600
"""Seconds that a browser remembers the answer to its preflight."""


def of_api(origins: Sequence[str]) -> apigateway.CorsPreflightOptions | None:
    """HTTP API answers the preflight itself: before any authorizer, so it needs no key."""
    if not origins:
        return None
    methods = sorted({route.method for route in ROUTES})
    return apigateway.CorsPreflightOptions(
        allow_origins=list(origins),
        allow_methods=[apigateway.CorsHttpMethod[method] for method in methods],
        allow_headers=list(ASKED_WITH),
        expose_headers=list(SHOWN),
        # Keys are sent by the page itself; no cookie says who asks.
        allow_credentials=False,
        max_age=cdk.Duration.seconds(KNOWN_FOR),
    )


def of_bucket(origins: Sequence[str]) -> list[s3.CorsRule] | None:
    """Pages read results by signed links, and send files by signed forms."""
    if not origins:
        return None
    return [
        s3.CorsRule(
            allowed_origins=list(origins),
            allowed_methods=[s3.HttpMethods.GET, s3.HttpMethods.HEAD, s3.HttpMethods.POST],
            allowed_headers=["*"],
            exposed_headers=["ETag", "Content-Length"],
            max_age=KNOWN_FOR,
        )
    ]
