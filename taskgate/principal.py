"""Who is asking: the tenant, the user and what the key allows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from taskgate.errors import MissingScope, Unauthenticated
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
    key_id: str

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
        }

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Principal:
        """The principal that `as_context` wrote; `Unauthenticated` for anything else."""
        tenant, user = str(context.get("tenant", "")), str(context.get("user", ""))
        limit = str(context.get("max_pending", ""))
        if not (NAME.fullmatch(tenant) and NAME.fullmatch(user) and limit.isdecimal()):
            raise Unauthenticated
        scopes = frozenset(str(context.get("scopes", "")).split())
        return cls(Owner(tenant, user), scopes & SCOPES, int(limit), str(context.get("key_id", "")))
