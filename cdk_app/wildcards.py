"""Where a role's rights are on more than what they name, and whether anybody said why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

ACKNOWLEDGED: Final = "taskgate:acknowledged"
"""The metadata of a resource that says why a finding on it is meant: by finding, the reason."""


def flat(value: Any) -> str:
    """A value of a template as cdk-nag writes it in the id of a finding."""
    match value:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(flat, parts))
        case {"Fn::ImportValue": name}:
            return flat(name)
        case _:
            return str(value)


def unexplained(template: Mapping[str, Any]) -> Iterator[str]:
    """Each wildcard of the template's roles that no acknowledgment on its role explains."""
    resources = template["Resources"]
    for name, resource in resources.items():
        reasons = _reasons(resource, resources)
        for statement in _statements(resource):
            for finding in _wildcards(statement):
                if finding not in reasons:
                    yield f"{name}: {finding}"


def _reasons(resource: Mapping[str, Any], resources: Mapping[str, Any]) -> set[str]:
    """What is said on a role, or on the roles that a policy is of."""
    roles = (r.get("Ref") for r in resource.get("Properties", {}).get("Roles", []))
    said = [resource, *(resources[role] for role in roles if role in resources)]
    return {rule for one in said for rule in one.get("Metadata", {}).get(ACKNOWLEDGED, {})}


def _statements(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    properties = resource.get("Properties", {})
    match resource["Type"]:
        case "AWS::IAM::Policy":
            yield from properties["PolicyDocument"]["Statement"]
        case "AWS::IAM::Role":
            for policy in properties.get("Policies", []):
                yield from policy["PolicyDocument"]["Statement"]


def _wildcards(statement: Mapping[str, Any]) -> Iterator[str]:
    for part in ("Action", "Resource"):
        for value in _listed(statement.get(part, [])):
            if "*" in (text := flat(value)):
                yield f"AwsSolutions-IAM5[{part}::{text}]"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
