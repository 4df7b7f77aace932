"""How an attempt went, as a value. Only `gpu_worker.ending` turns one into a change of the task."""

from __future__ import annotations

from dataclasses import dataclass

from taskgate.gateway.work.worker import Failure, Produced


@dataclass(frozen=True, slots=True)
class Done:
    """The run ended well and left these."""

    files: tuple[Produced, ...]
    output: str | None


@dataclass(frozen=True, slots=True)
class Broken:
    """The run, the child or the time limit ended it badly."""

    failure: Failure
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Canceled:
    """A cancel was asked for, and nothing of the task runs any more."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker has to leave; the next attempt may start from the checkpoint."""

    checkpoint: str | None


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The run asks to be called again after so many seconds."""

    seconds: float
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The task is somebody else's: nothing may be written."""


Outcome = Done | Broken | Canceled | Interrupted | Snoozed | Lost
