"""cdk-nag's AwsSolutions rules over the stacks of an account, and how a finding is acknowledged.

A finding ends the synth. One that is meant is acknowledged beside what it finds, with its reason: by
its full id, so that a second wildcard on the same role is a finding again. The reasons stand in the
templates, too, for those who review what is deployed.
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import IConstruct

from cdk_app.wildcards import ACKNOWLEDGED, flat


def check(app: cdk.App) -> None:
    """Have the rules look at every stack of the app at its synth."""
    from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415 - a local synth need not load it

    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def acknowledge_wildcard(role: IConstruct, arn: str, reason: str) -> None:
    """Say why a role's right is on all that begins with this ARN."""
    found = flat(cdk.Stack.of(role).resolve(arn))
    acknowledge(role, {f"AwsSolutions-IAM5[Resource::{found}]": reason})


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Say why each of these findings on the construct is meant."""
    cdk.Validations.of(construct).acknowledge(
        *(cdk.Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items())
    )
    _write_down(construct, reasons)


def _write_down(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """In the template, beside the resource."""
    resource = construct.node.default_child
    if not isinstance(resource, cdk.CfnResource):
        raise TypeError(f"{construct.node.path} is not one resource: acknowledge on what it holds")
    before = resource.get_metadata(ACKNOWLEDGED) or {}
    resource.add_metadata(ACKNOWLEDGED, {**before, **reasons})
