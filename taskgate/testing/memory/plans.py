"""The plans in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from taskgate.plans import Plan


class MemoryPlans:
    """The `PlanStore` port."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._plans: dict[str, Plan] = {}

    def get_plan(self, name: str) -> Plan | None:
        return self._plans.get(name)

    def write_plan(self, plan: Plan) -> bool:
        with self._lock:
            old = self._plans.get(plan.name)
            if plan.version != (old.version if old else 0):
                return False
            self._plans[plan.name] = replace(plan, version=plan.version + 1)
            return True

    def list_plans(self) -> Sequence[Plan]:
        with self._lock:
            return [self._plans[name] for name in sorted(self._plans)]
