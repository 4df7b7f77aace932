"""What every plan store must do. Subclass it, give it `plans`, and pytest runs the promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.marks import Mark
from taskgate.plans import FREE, OPERATOR, PAID, Plan, PlanStore

BULK = replace(PAID, name="bulk", max_pending=10_000, ledger_shards=100)


class PlansConformance:
    """Promises of `PlanStore`."""

    @pytest.fixture
    def plans(self) -> PlanStore:
        """An empty store."""
        raise NotImplementedError

    @pytest.mark.parametrize("plan", [FREE, PAID, OPERATOR, BULK], ids=lambda plan: plan.name)
    def test_a_plan_reads_back_as_it_was_set(self, plans: PlanStore, plan: Plan) -> None:
        assert plans.get_plan(plan.name) is None
        plan = replace(plan, trail=(Mark(1, "olga", "set"),))
        assert plans.write_plan(plan)
        assert plans.get_plan(plan.name) == replace(plan, version=1)

    def test_of_two_settings_of_one_version_only_the_first_is_made(self, plans: PlanStore) -> None:
        assert plans.write_plan(FREE)
        assert not plans.write_plan(replace(FREE, max_pending=9))
        assert plans.write_plan(replace(FREE, max_pending=5, version=1))
        assert not plans.write_plan(replace(FREE, max_pending=9, version=1))
        assert plans.get_plan("free") == replace(FREE, max_pending=5, version=2)

    def test_a_setting_over_none_makes_none(self, plans: PlanStore) -> None:
        assert not plans.write_plan(replace(FREE, version=1))
        assert plans.get_plan("free") is None

    def test_the_list_has_each_plan_that_was_set_by_name(self, plans: PlanStore) -> None:
        for plan in (PAID, FREE, replace(FREE, name="bulk")):
            plans.write_plan(plan)
        assert [plan.name for plan in plans.list_plans()] == ["bulk", "free", "paid"]
