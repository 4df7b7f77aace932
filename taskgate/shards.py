"""Which shard an id belongs to: stable over processes, machines and Python versions."""

from __future__ import annotations

import zlib
from typing import Final

PROBLEM_SHARDS: Final = 4
"""Of each day of the problem index, so that a bad day has no single hot key."""


def shard_of(task_id: str, shards: int) -> int:
    """0 to shards - 1, spread evenly; CRC-32, since Python's `hash` differs in each process."""
    return zlib.crc32(task_id.encode()) % shards
