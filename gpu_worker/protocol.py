"""What supervisor and child say to each other: one JSON object a line, over a socket pair.

No pickle: whatever a model does to its own process, the supervisor only ever parses text. Large
things are files in the attempt's folder and travel as paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from taskgate.lifecycle.retry import ErrorClass, ErrorCode


class BrokenFrame(Exception):
    """The other side sent something that is not a message."""


@dataclass(frozen=True, slots=True)
class Load:
    """Order: import the runner and set it up."""

    runner: str


@dataclass(frozen=True, slots=True)
class Run:
    """Order: run one task. `number` tells runs of one child apart."""

    number: int
    runner: str
    task_id: str
    attempt: int
    folder: str
    input: dict[str, Any]
    checkpoint: str | None = None
    seconds_left: float = 0.0
    """How long the run may take, from when the order is given."""
    trace: dict[str, str] = field(default_factory=dict)
    """`traceparent` and `tracestate` of this run."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Order: stop this run at the next call to its context."""

    number: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Order: this worker leaves soon; a run that can save its work should."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Order: the run's time changed; `answers` when it was asked for."""

    number: int
    seconds: float
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """Word: the child is up, with nothing loaded."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Word: the runner is set up."""

    runner: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """Word: how far the run is, 0 to 1, and in which stage."""

    number: int
    fraction: float
    stage: str


@dataclass(frozen=True, slots=True)
class Saved:
    """Word: what the next attempt may start from."""

    number: int
    checkpoint: str


@dataclass(frozen=True, slots=True)
class Extend:
    """Word: the run needs at least so many seconds from now; `TimeLeft` answers."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Word: the run asks to be called again after so many seconds."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """Word: the run is over; each file is ``(name, path, content type)``."""

    number: int
    files: list[tuple[str, str, str]] = field(default_factory=list)
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Word: the run, or a runner's setup (`number` 0), ended with an exception."""

    number: int
    code: ErrorCode
    error_class: ErrorClass
    message: str
    details: str = ""
    retry_after: float | None = None
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Word: the run ended because it was canceled."""

    number: int


Order = Load | Run | Cancel | Drain | TimeLeft
Word = Ready | Loaded | Progressed | Saved | Extend | Snoozed | Finished | Failed | Stopped

_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (
        *(Load, Run, Cancel, Drain, TimeLeft),
        *(Ready, Loaded, Progressed, Saved, Extend, Snoozed, Finished, Failed, Stopped),
    )
}


def encode(message: Order | Word) -> bytes:
    """One line. ASCII, so that no text of a user can break a frame."""
    frame = {"kind": type(message).__name__, **asdict(message)}
    return json.dumps(frame, allow_nan=False).encode("ascii") + b"\n"


def decode(line: bytes) -> Any:
    """The message of one line, each part of the kind that it should be; raises `BrokenFrame`."""
    try:
        frame = json.loads(line, parse_constant=_no_number)
        return _KINDS[frame.pop("kind")].validate_python(frame)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenFrame(f"not a message: {line[:80]!r}") from error


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")
