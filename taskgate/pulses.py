"""The ephemeral side of a running attempt: its beats, and the words between gateway and worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

MAX_STAGE: Final = 64
"""Characters of a stage that are kept: a run may say it each second."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What the gateway tells the worker of one attempt, through the pulse."""

    kind: str
    """``cancel_soft``, ``cancel_hard``, ``lost`` or ``deadline``."""
    attempt: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The worker of an attempt has had a signal of this kind since then (epoch ms)."""

    kind: str
    attempt: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """The ephemeral side of a running attempt. Times are epoch ms."""

    task_id: str
    attempt: int
    worker: str = ""
    beat_at: int = 0
    progress: float = 0.0
    """0 to 1, never falling within an attempt."""
    stage: str = ""
    signal: Signal | None = None
    seen: Seen | None = None

    def seen_at(self, kind: str) -> int | None:
        """When the worker of this very attempt first had a signal of the kind."""
        seen = self.seen
        known = seen is not None and (seen.kind, seen.attempt) == (kind, self.attempt)
        return seen.at if seen and known else None


class Pulses(Protocol):
    """The ephemeral side: beats, progress, signals."""

    def beat(self, pulse: Pulse) -> Pulse:
        """Record a beat and bring back the pulse with its signal.

        Progress never falls within an attempt. Raises `LeaseLost` when a newer attempt has beaten.
        """

    def signal(self, task_id: str, signal: Signal) -> None:
        """Leave a word for the worker of an attempt; a newer attempt's pulse is left alone."""

    def acknowledge(self, task_id: str, seen: Seen) -> None:
        """The attempt's worker has the signal. The first time of each kind stands."""

    def get(self, task_id: str) -> Pulse | None: ...
