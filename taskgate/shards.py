"""Which shard an id belongs to: stable over processes, machines and Python versions."""

from __future__ import annotations

import zlib


def shard_of(task_id: str, shards: int) -> int:
    """0 to shards - 1, spread evenly; CRC-32, since Python's `hash` differs in each process."""
    return zlib.crc32(task_id.encode()) % shards
