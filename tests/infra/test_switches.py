"""What operators pause survives a deploy: no template knows of it (case B05)."""

from __future__ import annotations

import json

import pytest

from taskgate.aws.switches import KEY
from taskgate.settings import STAGES

WRITES_ITEMS = ("Custom::", "AWS::CloudFormation::CustomResource", "AWS::CloudFormation::Macro")


@pytest.mark.parametrize("name", STAGES)
def test_no_template_writes_the_switches_or_any_other_item(synthesise, name):
    for template in synthesise(name):
        kinds = {resource["Type"] for resource in template.body["Resources"].values()}
        assert not [kind for kind in kinds if kind.startswith(WRITES_ITEMS)]
        for resource in template.body["Resources"].values():
            named = KEY["pk"]["S"] in json.dumps(resource)
            assert not named or resource["Type"] == "AWS::IAM::Policy"
        for table in template.properties("AWS::DynamoDB::Table"):
            assert "ImportSourceSpecification" not in table


def test_the_rooms_that_mind_the_switches_may_read_them_and_not_turn_them(gateway):
    minding = [
        (name, statement["Action"])
        for name, policy in gateway.of_type("AWS::IAM::Policy").items()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if KEY["pk"]["S"] in json.dumps(statement)
    ]
    assert sorted(action for _, action in minding if isinstance(action, str)) == [
        "dynamodb:GetItem",  # the API
        "dynamodb:GetItem",  # the sweep
    ]
    # Operators turn them over HTTP in the admin room, and nowhere else.
    [(name, actions)] = [found for found in minding if not isinstance(found[1], str)]
    assert name.startswith("AdminFunction")
    assert set(actions) == {"dynamodb:GetItem", "dynamodb:PutItem"}


def test_no_function_learns_of_a_pause_from_its_environment(synthesise):
    """One source of truth: a deploy that sets variables cannot contradict the record."""
    _, gateway = synthesise("prod")
    names = {
        name
        for function in gateway.properties("AWS::Lambda::Function")
        for name in function["Environment"]["Variables"]
    }
    assert not [name for name in names if "PAUSE" in name or "SWITCH" in name or "INTAKE" in name]


def test_the_records_outlive_the_stack_and_only_what_says_so_expires(synthesise):
    data, _ = synthesise("prod")
    (tasks,) = [
        resource
        for resource in data.of_type("AWS::DynamoDB::Table").values()
        if resource["Properties"]["TableName"].endswith("-tasks")
    ]
    assert tasks["DeletionPolicy"] == tasks["UpdateReplacePolicy"] == "Retain"
    assert tasks["Properties"]["TimeToLiveSpecification"]["AttributeName"] == "expires_at"
