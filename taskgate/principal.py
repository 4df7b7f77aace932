"""Who is asking: the tenant, the user and what the key allows, of one's own and of others' tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from taskgate.errors import BadOnBehalfOf, BadSetting, MissingScope, Unauthenticated
from taskgate.plans import UNPLANNED, Plan
from taskgate.task import Owner

USER_SCOPES: Final = frozenset({"tasks:read", "tasks:write"})
"""What is allowed of one's own tasks; nothing else is left to one who acts for another."""
SCOPES: Final = USER_SCOPES | {"delegate", "admin", "operator"}
"""``delegate`` acts for users of the key's tenant, ``admin`` looks after all tasks and keys of the key's
tenant, ``operator`` after those of every tenant."""
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
    via: str = ""
    """Who acts for the user, as `<user>/<key id>`, when it is not the user."""
    ends_at: int | None = None
    """Epoch seconds from which the key or token is good no more."""

    @property
    def ledger_shards(self) -> int:
        """Into how many shards the user's new tasks are booked: each takes one of them at least."""
        return min(self.plan.ledger_shards, self.max_pending)

    def require(self, scope: str) -> None:
        """Raise `MissingScope` unless the key has the scope."""
        if scope not in self.scopes:
            raise MissingScope(f"This needs the scope {scope}.")

    def manages(self, owner: Owner) -> bool:
        """Whether the principal looks after the tasks of this owner, which are not its own."""
        if "operator" in self.scopes:
            return True
        return "admin" in self.scopes and owner.tenant == self.owner.tenant

    def on_behalf_of(self, user: str) -> Principal:
        """The user of the same tenant for whom this principal acts: with that user's books and limits,
        and with no right that the user would not have.
        """
        self.require("delegate")
        if not NAME.fullmatch(user):
            raise BadOnBehalfOf
        owner, via = Owner(self.owner.tenant, user), f"{self.owner.user}/{self.key_id}"
        return replace(self, owner=owner, scopes=self.scopes & USER_SCOPES, via=via)

    @property
    def actor(self) -> str:
        """How the principal appears in the history of its own task."""
        return f"user:{self.owner.user}" + (f" via {self.via}" if self.via else "")

    def actor_for(self, owner: Owner) -> str:
        """How the principal appears in the history of a task of `owner`."""
        if owner == self.owner:
            return self.actor
        role = "operator" if "operator" in self.scopes else "admin"
        return f"{role}:{self.owner.user}/{self.key_id}"

    def as_context(self) -> dict[str, str]:
        """What the authorizer hands to the API: texts only, which every gateway passes on as such."""
        return {
            "tenant": self.owner.tenant,
            "user": self.owner.user,
            "scopes": " ".join(sorted(self.scopes)),
            "max_pending": str(self.max_pending),
            "key_id": self.key_id,
            "ends_at": _text(self.ends_at),
            "plan": self.plan.name,
            "submits_per_minute": _text(self.plan.submits_per_minute),
            "burst": str(self.plan.burst),
            "priorities": " ".join(sorted(self.plan.priorities)),
            "max_processing": _text(self.plan.max_processing),
            "max_upload_bytes": _text(self.plan.max_upload_bytes),
            "ledger_shards": str(self.plan.ledger_shards),
        }

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Principal:
        """The principal that `as_context` wrote; `Unauthenticated` for anything else."""
        tenant, user = str(context.get("tenant", "")), str(context.get("user", ""))
        limit, ends_at = str(context.get("max_pending", "")), str(context.get("ends_at", ""))
        numbers = limit.isdecimal() and (ends_at or "0").isdecimal()
        if not (NAME.fullmatch(tenant) and NAME.fullmatch(user) and numbers):
            raise Unauthenticated
        scopes = frozenset(str(context.get("scopes", "")).split())
        key_id, plan = str(context.get("key_id", "")), _plan(context)
        owner, ends = Owner(tenant, user), _number(ends_at)
        return cls(owner, scopes & SCOPES, int(limit), key_id, plan, ends_at=ends)


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
            max_upload_bytes=_number(context.get("max_upload_bytes")),
            ledger_shards=_number(context.get("ledger_shards")) or 1,
        )
    except (BadSetting, ValueError) as error:
        raise Unauthenticated from error


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(text: Any) -> int | None:
    return int(text) if text else None
