"""Who is asking: the tenant, the user and what the key allows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from taskgate.errors import MissingScope
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
