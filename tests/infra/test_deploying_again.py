"""What a second deploy meets: of an earlier release, and of a deployment that was taken down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskgate.settings import STAGES

RELEASED = Path(__file__).with_name("released_indexes.json")
UPDATED = "Nobody may skip a release that changes an index: name the path in the changelog"
NAMES = (
    "FunctionName",
    "LogGroupName",
    "QueueName",
    "TableName",
    "BucketName",
    "Name",
    "AlarmName",
)
ON_AWS = sorted(name for name, one in STAGES.items() if not one.emulator)


def _indexes(template):
    """Of each table by its name: every index with its keys, as CloudFormation compares them."""
    return {
        table["Properties"]["TableName"]: {
            index["IndexName"]: [[k["AttributeName"], k["KeyType"]] for k in index["KeySchema"]]
            for index in table["Properties"].get("GlobalSecondaryIndexes", [])
        }
        for table in template.of_type("AWS::DynamoDB::Table").values()
    }


def changes(before, now):
    """How many indexes of a table an update would make, drop or make anew."""
    return sum(before.get(name) != now.get(name) for name in before.keys() | now.keys())


def test_an_update_from_the_last_release_changes_one_index_of_a_table_at_most(data):
    """DynamoDB refuses a second change in one update. Write a release's indexes down at its end."""
    released = json.loads(RELEASED.read_text("utf-8"))
    for table, indexes in _indexes(data).items():
        assert changes(released[table], indexes) <= 1, UPDATED


@pytest.mark.parametrize(
    ("now", "count"),
    [
        ({"a": 1}, 0),
        ({"a": 1, "b": 1}, 1),
        ({"a": 2}, 1),
        ({"b": 1}, 2),
        ({"a": 1, "b": 1, "c": 1}, 2),
    ],
)
def test_an_index_that_is_made_dropped_or_made_anew_is_a_change(now, count):
    assert changes({"a": 1}, now) == count


@pytest.mark.parametrize("name", ON_AWS)
def test_a_deployment_that_was_taken_down_leaves_no_name_in_the_way_of_the_next(
    synthesise, observed, workers_of, name
):
    for template in (synthesise(name)[1], observed(name), workers_of(name)):
        for logical, resource in template.body["Resources"].items():
            named = [key for key in NAMES if key in resource.get("Properties", {})]
            kept = {resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")}
            assert not (named and kept & {"Retain", "Snapshot"}), logical


@pytest.mark.parametrize("name", ON_AWS)
def test_no_helper_sets_how_long_a_log_is_kept(synthesise, observed, workers_of, name):
    for template in (*synthesise(name), observed(name), workers_of(name)):
        kinds = {resource["Type"] for resource in template.body["Resources"].values()}
        assert not [kind for kind in kinds if kind.startswith("Custom::")]
        for logical, group in template.of_type("AWS::Logs::LogGroup").items():
            assert group["Properties"]["RetentionInDays"], logical
