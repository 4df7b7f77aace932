"""Everything that is billed or looked for says which stage and cell it belongs to."""

from __future__ import annotations

import pytest

from taskgate.settings import stage

BILLED = (
    "AWS::DynamoDB::Table",
    "AWS::EC2::NatGateway",
    "AWS::ECS::Service",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
    "AWS::SecretsManager::Secret",
)


@pytest.mark.parametrize("kind", BILLED)
def test_what_is_billed_bears_its_stage_and_cell(synthesise, workers_of, kind):
    found = [p for t in (*synthesise("prod"), workers_of("prod")) for p in t.properties(kind)]
    assert found
    for properties in found:
        tags = {tag["Key"]: tag["Value"] for tag in properties["Tags"]}
        assert {name: tags.get(f"taskgate:{name}") for name in ("stage", "cell")} == stage(
            "prod"
        ).labels
