"""Which shard an id belongs to: stable over processes, machines and Python versions."""

from __future__ import annotations

import zlib
from typing import Final

PROBLEM_SHARDS: Final = 4
"""Of each day of the problem index, so that a bad day has no single hot key."""


def shard_of(task_id: str, shards: int) -> int:
    """0 to shards - 1, spread evenly; CRC-32, since Python's `hash` differs in each process."""
    return zlib.crc32(task_id.encode()) % shards


MOST_LEDGER_SHARDS: Final = 256
"""Of one user's ledger: whoever asks for the books reads them all."""
MOST_IN_LEDGER: Final = 10_000
"""Ids in one shard, whatever the limit: an item ends at 400 KB, and a full one could end no task."""


def room_in(limit: int, shards: int, shard: int) -> int:
    """How many of a user's unfinished tasks one shard of the ledger takes. They add up to the limit."""
    share = limit // shards + (1 if shard < limit % shards else 0)
    return min(share, MOST_IN_LEDGER)
