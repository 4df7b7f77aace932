"""A domain of yours: on the HTTP API itself, and its records where the zone is known."""

from __future__ import annotations

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from constructs import Construct

from taskgate.edge import Domain


def on_the_api(scope: Construct, domain: Domain) -> apigateway.DomainName:
    """The domain as a name of the HTTP API."""
    return apigateway.DomainName(
        scope,
        "Domain",
        domain_name=domain.name,
        certificate=acm.Certificate.from_certificate_arn(scope, "Certificate", domain.certificate),
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
    )


def record(scope: Construct, domain: Domain, target: route53.IAliasRecordTarget) -> None:
    """Its records for IPv4 and IPv6, when the zone is ours to write."""
    if not domain.hosted_zone:
        return
    zone = route53.HostedZone.from_hosted_zone_attributes(
        scope, "Zone", hosted_zone_id=domain.hosted_zone, zone_name=domain.zone_name
    )
    alias = route53.RecordTarget.from_alias(target)
    # The trailing dot: the name is whole already.
    route53.ARecord(scope, "A", zone=zone, record_name=f"{domain.name}.", target=alias)
    route53.AaaaRecord(scope, "Aaaa", zone=zone, record_name=f"{domain.name}.", target=alias)
