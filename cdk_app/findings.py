"""cdk-nag's AwsSolutions rules over the stacks of an account, and how a finding is acknowledged.

A finding ends the synth. One that is meant is acknowledged beside what it finds, with its reason: by
its full id, so that a second wildcard on the same role is a finding again. The reasons stand in the
templates, too, for those who review what is deployed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from constructs import IConstruct


def check(app: cdk.App) -> None:
    """Have the rules look at every stack of the app at its synth."""
    from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415 - a local synth need not load it

    rules = AwsSolutionsChecks(app, write_suppressions_to_cloud_formation=True)
    cdk.Validations.of(app).add_plugins(rules)


def acknowledge_wildcard(role: IConstruct, arn: str, reason: str) -> None:
    """Say why a role's right is on all that begins with this ARN."""
    found = _flat(cdk.Stack.of(role).resolve(arn))
    acknowledge(role, {f"AwsSolutions-IAM5[Resource::{found}]": reason})


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Say why each of these findings on the construct is meant."""
    cdk.Validations.of(construct).acknowledge(
        *(cdk.Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items())
    )


def _flat(value: Any) -> str:
    """A resolved value as cdk-nag writes it in an id."""
    match value:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_flat, parts))
        case _:
            return str(value)
