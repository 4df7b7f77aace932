"""Who is asking: the tenant, the user and what the key allows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from taskgate.errors import BadSetting, MissingScope, Unauthenticated
from taskgate.plans import UNPLANNED, Plan
from taskgate.task import Owner

SCOPES: Final = frozenset({"tasks:read", "tasks:write", "admin"})
NAME: Final = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
"""A tenant or user name: it stands in keys and object names, so no ``#`` and no ``/``."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller."""

    owner: Owner
    scopes: frozenset[str]
    max_pending: int
    """The key's own limit, or its plan's."""
    key_id: str
    plan: Plan = UNPLANNED

    def require(self, scope: str) -> None:
        """Raise `MissingScope` unless the key has the scope."""
        if scope not in self.scopes:
            raise MissingScope(f"This needs the scope {scope}.")

    @property
    def actor(self) -> str:
        """How the principal appears in a task's history."""
        return f"user:{self.owner.user}"

    def actor_for(self, owner: Owner) -> str:
        """How the principal appears in the history of a task of `owner`."""
        return self.actor if owner == self.owner else f"operator:{self.owner.user}"

    def as_context(self) -> dict[str, str]:
        """What the authorizer hands to the API: texts only, which every gateway passes on as such."""
        return {
            "tenant": self.owner.tenant,
            "user": self.owner.user,
            "scopes": " ".join(sorted(self.scopes)),
            "max_pending": str(self.max_pending),
            "key_id": self.key_id,
            "plan": self.plan.name,
            "submits_per_minute": _text(self.plan.submits_per_minute),
            "burst": str(self.plan.burst),
            "priorities": " ".join(sorted(self.plan.priorities)),
            "max_processing": _text(self.plan.max_processing),
        }

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Principal:
        """The principal that `as_context` wrote; `Unauthenticated` for anything else."""
        tenant, user = str(context.get("tenant", "")), str(context.get("user", ""))
        limit = str(context.get("max_pending", ""))
        if not (NAME.fullmatch(tenant) and NAME.fullmatch(user) and limit.isdecimal()):
            raise Unauthenticated
        scopes = frozenset(str(context.get("scopes", "")).split())
        key_id, plan = str(context.get("key_id", "")), _plan(context)
        return cls(Owner(tenant, user), scopes & SCOPES, int(limit), key_id, plan)


def _plan(context: Mapping[str, Any]) -> Plan:
    """The plan in a context. The HTTP API remembers contexts: those of an older authorizer, which
    name no plan, must still be understood.
    """
    if not context.get("plan"):
        return UNPLANNED
    try:
        return Plan(
            name=str(context["plan"]),
            submits_per_minute=_number(context.get("submits_per_minute")),
            burst=_number(context.get("burst")) or 1,
            priorities=frozenset(str(context.get("priorities", "")).split()),
            max_processing=_number(context.get("max_processing")),
        )
    except (BadSetting, ValueError) as error:
        raise Unauthenticated from error


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(text: Any) -> int | None:
    return int(text) if text else None
