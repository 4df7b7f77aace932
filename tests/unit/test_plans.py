"""Plans: both stores keep the same promises, and a plan is never more than it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.plans import DynamoPlans
from taskgate.errors import BadSetting
from taskgate.plans import FREE, PAID, UNPLANNED, Plan, PlanStore, plan_of
from taskgate.testing import aws_resources
from taskgate.testing.conformance.plans import PlansConformance
from taskgate.testing.memory.plans import MemoryPlans


class TestMemoryPlans(PlansConformance):
    @pytest.fixture
    def plans(self) -> PlanStore:
        return MemoryPlans()


class TestDynamoPlansOnMoto(PlansConformance):
    @pytest.fixture
    def plans(self) -> Iterator[DynamoPlans]:
        with mock_aws():
            environment = aws_resources.create("plans")
            yield DynamoPlans(clients.dynamodb(), table=environment.tasks_table)


def test_what_was_set_goes_before_what_is_built_in() -> None:
    plans = MemoryPlans()
    assert plan_of(plans, "paid") == PAID
    plans.write_plan(replace(PAID, max_pending=7))
    assert plan_of(plans, "paid").max_pending == 7


def test_a_name_that_means_nothing_is_given_the_least_and_no_name_no_limits() -> None:
    assert plan_of(MemoryPlans(), "gold") == FREE
    assert plan_of(MemoryPlans(), None) == UNPLANNED
    assert UNPLANNED.submits_per_minute is None


def test_free_has_three_unfinished_tasks_and_no_high_priority_and_whoever_pays_has() -> None:
    assert (FREE.max_pending, FREE.priorities) == (3, frozenset({"normal", "low"}))
    assert "high" in PAID.priorities
    assert PAID.max_pending > FREE.max_pending


WRONG = (
    {"max_pending": 0},
    {"submits_per_minute": 0},
    {"submits_per_minute": 60_001},
    {"burst": 0},
    {"max_processing": 0},
    {"max_upload_bytes": 0},
    {"max_upload_bytes": 5 * 1024**3 + 1},
    {"ledger_shards": 0},
    {"ledger_shards": 257},
    {"priorities": frozenset()},
    {"priorities": frozenset({"urgent"})},
)


@pytest.mark.parametrize("fields", WRONG, ids=repr)
def test_a_plan_out_of_bounds_cannot_be_made(fields: dict[str, object]) -> None:
    with pytest.raises(BadSetting):
        Plan(name="p", **fields)  # type: ignore[arg-type]
