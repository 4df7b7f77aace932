"""Bulk acts: both stores keep the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.bulks import DynamoBulks
from taskgate.bulks import BulkAct, BulkStore, Wanted
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance.bulks import PLAN, BulksConformance
from taskgate.testing.memory.bulks import MemoryBulks


class TestMemoryBulks(BulksConformance):
    @pytest.fixture
    def store(self) -> BulkStore:
        return MemoryBulks()


class TestDynamoBulksOnMoto(BulksConformance):
    @pytest.fixture
    def store(self) -> Iterator[DynamoBulks]:
        with mock_aws():
            environment = aws_resources.create("bulks")
            yield DynamoBulks(clients.dynamodb(), table=environment.tasks_table)


OTHERS = {
    "id": replace(PLAN, id="bulk_2"),
    "act": replace(PLAN, act=BulkAct.CANCEL),
    "filter": replace(PLAN, wanted=Wanted(tenant="other")),
    "operator": replace(PLAN, operator=Owner("taskgate", "bo")),
    "key": replace(PLAN, key_id="k2"),
    "reason": replace(PLAN, reason="another"),
    "time": replace(PLAN, planned_at=PLAN.planned_at + 1),
    "secret": replace(PLAN, secret="t"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_token_is_good_for_one_plan_of_one_operator_alone(other: object) -> None:
    assert other.token() != PLAN.token()  # type: ignore[attr-defined]
