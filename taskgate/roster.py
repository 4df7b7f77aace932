"""The port of the roster: which workers there are, and what each of them does.

A worker tells of itself every few beats, idle or busy. Nothing is decided by it: whether a task is
held is for its record and its pulse to say. Every method may raise `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

BEATS_A_SIGN: Final = 4
"""A worker gives a sign of itself each so many beats."""
SIGNS_MISSED: Final = 3
"""A worker that has missed so many is taken for lost."""
KEPT_SECONDS: Final = 3600
"""A worker that is lost is told of for so long."""
MOST_LISTED: Final = 1000


class WorkerState(StrEnum):
    """What a worker says that it does; `lost` is what others say of it."""

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What a worker told of itself. Times are epoch ms."""

    worker: str
    pool: str
    version: str
    state: WorkerState
    started_at: int
    beat_at: int
    task_id: str | None = None
    task_type: str | None = None
    attempt: int | None = None
    gpu: str | None = None
    """The model of its GPU; None without one."""
    gpu_memory_mib: int | None = None


class Roster(Protocol):
    """Who works, by pool."""

    def report(self, sign: Sign) -> None:
        """Keep the worker's sign of itself: 1 call."""

    def join(self, pool: str, worker: str) -> None:
        """Enter the pool's list, and clear those off it that are gone: 3 calls at most."""

    def leave(self, sign: Sign) -> None:
        """Be neither on the list nor on record any more."""

    def present(self, pools: Iterable[str]) -> Sequence[Sign]:
        """The latest sign of each worker of the pools, at most `MOST_LISTED`."""
