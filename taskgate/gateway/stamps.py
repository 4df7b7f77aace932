"""Fresh stamps: the one place where an `op_id` is made."""

from __future__ import annotations

import secrets

from taskgate.lifecycle.change import Stamp


def stamp(at: int, actor: str, reason: str = "") -> Stamp:
    """A stamp with an `op_id` that no other write bears: 72 random bits, 12 characters."""
    return Stamp(at, secrets.token_urlsafe(9), actor, reason)
