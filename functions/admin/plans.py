"""Plans: what a key may ask for, changed while everything runs. For operators."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.bodies import PlanBody
from functions.admin.desk import Desk
from functions.admin.names import name_of
from functions.admin.trails import trail
from functions.http.answers import answer
from functions.http.asked import Asked
from taskgate.errors import NoPlanName
from taskgate.gateway.office.key_keeping import acting
from taskgate.gateway.office.plan_keeping import every_plan, set_plan
from taskgate.plans import Plan


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/plans`: those built in, as they were set, and all others."""
    asked.query()
    asked.principal.require("operator")
    return answer({"plans": [_shown(plan) for plan in every_plan(desk.plans)]})


def change(desk: Desk, asked: Asked) -> Response[str]:
    """`PATCH /v1/admin/plans/{plan}`: what is named is set, the rest stays."""
    asked.query()
    who = asked.principal
    who.require("operator")
    name = name_of(asked, "plan")
    if name is None:
        raise NoPlanName
    changes = PlanBody.of(asked.body()).changes
    return answer(_shown(set_plan(desk.plans, name, changes, acting(who, desk.ports.now()))))


def _shown(plan: Plan) -> dict[str, Any]:
    return {**plan.terms, "history": trail(plan.trail)}
