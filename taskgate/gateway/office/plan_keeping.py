"""Plans as operators keep them: all of them, and what is set of one while everything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from taskgate.errors import PlanMoved
from taskgate.events import event
from taskgate.marks import Acting, marked
from taskgate.plans import BUILT_IN, FREE, Plan, PlanStore


def every_plan(store: PlanStore) -> Sequence[Plan]:
    """Every plan with its limits: those built in, as they were set, then the others by name."""
    # By their keys where they are known: the index may be a moment behind.
    named = [store.get_plan(name) or BUILT_IN[name] for name in BUILT_IN]
    return [*named, *(plan for plan in store.list_plans() if plan.name not in BUILT_IN)]


def set_plan(store: PlanStore, name: str, changes: Mapping[str, Any], by: Acting) -> Plan:
    """Set what is named and keep the rest; a new plan starts as `free` is built in.

    Raises `BadSetting` for a limit out of its bounds, `PlanMoved` when another was quicker.
    """
    old = store.get_plan(name) or BUILT_IN.get(name) or replace(FREE, name=name)
    told = "set " + ", ".join(sorted(changes)) if changes else "set"
    plan = replace(old, **changes, trail=marked(old.trail, by.mark(told)))
    if not store.write_plan(plan):
        raise PlanMoved
    event("plan_set", plan=name, by=by.who)
    return replace(plan, version=plan.version + 1)
