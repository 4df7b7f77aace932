"""Fresh names: the one place where task ids and `op_id`s are made."""

from __future__ import annotations

import secrets

from ulid import ULID

from taskgate.lifecycle.change import Stamp


def new_task_id(now: int) -> str:
    """A task id that sorts by its time (epoch ms)."""
    return f"task_{ULID.from_timestamp(now / 1000)}"


def first_task_id(at: int) -> str:
    """Below every id of this time (epoch ms) and later, above every id of before."""
    at = min(max(at, 0), 2**48 - 1)
    return f"task_{ULID.from_bytes(at.to_bytes(6, 'big') + bytes(10))}"


def stamp(at: int, actor: str, reason: str = "") -> Stamp:
    """A stamp with an `op_id` that no other write bears: 72 random bits, 12 characters."""
    return Stamp(at, secrets.token_urlsafe(9), actor, reason)
