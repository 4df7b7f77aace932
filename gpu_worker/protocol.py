"""What supervisor and child say to each other: one JSON object a line, over a socket pair.

No pickle: whatever a model does to its own process, the supervisor only ever parses text. Large
things are files in the attempt's folder and travel as paths.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MAX_FRAME: Final = 8 * 1024 * 1024
"""Far above any honest message; a child that sends more has lost its mind."""


class ChannelClosed(Exception):
    """The other side is gone."""


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


@dataclass(frozen=True, slots=True)
class Cancel:
    """Order: stop this run at the next call to its context."""

    number: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Order: this worker leaves soon; a run that can save its work should."""


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
class Finished:
    """Word: the run is over; each file is ``(name, path, content type)``."""

    number: int
    files: list[tuple[str, str, str]] = field(default_factory=list)
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Word: the run, or a runner's setup (`number` 0), ended with an exception."""

    number: int
    code: str
    error_class: str
    message: str
    details: str = ""
    retry_after: float | None = None
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Word: the run ended because it was canceled."""

    number: int


Order = Load | Run | Cancel | Drain
Word = Ready | Loaded | Progressed | Saved | Finished | Failed | Stopped

_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        *(Load, Run, Cancel, Drain),
        *(Ready, Loaded, Progressed, Saved, Finished, Failed, Stopped),
    )
}


def encode(message: Order | Word) -> bytes:
    """One line. ASCII, so that no text of a user can break a frame."""
    frame = {"kind": type(message).__name__, **asdict(message)}
    return json.dumps(frame, allow_nan=False).encode("ascii") + b"\n"


def decode(line: bytes) -> Any:
    """The message of one line; raises `BrokenFrame`."""
    try:
        frame = json.loads(line)
        return _KINDS[frame.pop("kind")](**frame)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrokenFrame(f"not a message: {line[:80]!r}") from error


class Channel:
    """One end of the line. One thread receives; any thread may send."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._buffer, self._sending = end, bytearray(), threading.Lock()
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def send(self, message: Order | Word) -> None:
        """Raises `ChannelClosed` when nobody listens any more."""
        try:
            with self._sending:
                self._end.sendall(encode(message))
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, timeout: float | None = None) -> Any:
        """The next message, or None when `timeout` seconds brought none."""
        until = None if timeout is None else time.monotonic() + timeout
        while (cut := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_FRAME:
                raise BrokenFrame("a frame without end")
            if not self._fill(until):
                return None
        line = bytes(self._buffer[:cut])
        del self._buffer[: cut + 1]
        return decode(line)

    def close(self) -> None:
        """Hang up; the other side sees it at once."""
        self._end.close()

    def _fill(self, until: float | None) -> bool:
        rest = None if until is None else max(0.0, until - time.monotonic()) * 1000
        if not self._poll.poll(rest):
            return False
        try:
            data = self._end.recv(65536)
        except OSError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        self._buffer += data
        return True
