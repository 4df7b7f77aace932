"""The ephemeral side of a running attempt: its beats, and the words between gateway and worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

MAX_STAGE: Final = 64
"""Characters of a stage that are kept: a run may say it each second."""


KINDS: Final = ("deadline", "cancel_soft", "cancel_hard", "lost")
"""What a worker may be told, the weakest first. A canceled task is extended no more: each word is later
news than those before it."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What the gateway tells the worker of one attempt, through the pulse."""

    kind: str
    """One of `KINDS`."""
    attempt: int

    @property
    def stronger(self) -> tuple[Signal, ...]:
        """Words to the same attempt that this one, perhaps late, must not take back."""
        return tuple(Signal(kind, self.attempt) for kind in KINDS[KINDS.index(self.kind) + 1 :])


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
        """Leave a word for the worker of an attempt. A newer attempt's pulse is left alone, and so is a
        stronger word to the same one: whoever was slow must not call a worker back to a lost run.
        """

    def acknowledge(self, task_id: str, seen: Seen) -> None:
        """The attempt's worker has the signal. The first time of each kind stands."""

    def get(self, task_id: str) -> Pulse | None: ...
