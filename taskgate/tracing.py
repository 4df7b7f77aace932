"""W3C trace context: the caller's trace is gone on with, from the request to the callback.

A task whose caller sent none has a trace of its own, made of its id; so are the ids of all spans.
Every room comes to the same ones without anything being stored or sent for it, and a span that is
told twice is the same span.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_STATE: Final = 512
"""Characters of `tracestate` that are carried: what the standard asks of everybody."""
MAX_MEMBERS: Final = 32
LONG_MEMBER: Final = 128
"""Members longer than this go first when the whole is too long, as the standard advises."""
SAMPLED: Final = 0x01
RANDOM: Final = 0x02
KNOWN_FLAGS: Final = SAMPLED | RANDOM
NO_TRACE: Final = "0" * 32
NO_SPAN: Final = "0" * 16

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_MEMBER: Final = re.compile(
    r"(?P<key>[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)


@dataclass(frozen=True, slots=True)
class Trace:
    """Which trace a task belongs to. `state` is the vendors' `tracestate`, carried as it came."""

    trace_id: str
    flags: int = SAMPLED
    state: str = ""

    @property
    def sampled(self) -> bool:
        """Whether whoever began the trace wants it recorded."""
        return bool(self.flags & SAMPLED)

    def parent(self, span_id: str) -> str:
        """The `traceparent` of what that span calls."""
        return f"00-{self.trace_id}-{span_id}-{self.flags:02x}"

    def headers(self, span_id: str) -> dict[str, str]:
        """The headers of what that span calls."""
        return {
            "traceparent": self.parent(span_id),
            **({"tracestate": self.state} if self.state else {}),
        }


@dataclass(frozen=True, slots=True)
class Incoming:
    """A caller's trace, and its span that called us."""

    trace: Trace
    span_id: str


def incoming(traceparent: str | None, tracestate: str | None = None) -> Incoming | None:
    """What the caller's headers say; None when there is none, or none that the standard allows.

    A malformed `tracestate` is left out and the trace goes on without it.
    """
    found = _PARENT.fullmatch(traceparent.strip(" \t")) if traceparent else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    # Version 00 ends here; a later one may say more, and means the same by its first four fields.
    if version == "ff" or (version == "00" and more) or trace_id == NO_TRACE or span_id == NO_SPAN:
        return None
    trace = Trace(trace_id, int(flags, 16) & KNOWN_FLAGS, bounded_state(tracestate or ""))
    return Incoming(trace, span_id)


def bounded_state(text: str) -> str:
    """The members of a `tracestate` as far as they fit; none when any of them is malformed."""
    members = [member for part in text.split(",") if (member := part.strip(" \t"))]
    found = [_MEMBER.fullmatch(member) for member in members]
    keys = {match["key"] for match in found if match}
    if len(members) > MAX_MEMBERS or len(keys) < len(members):
        return ""
    return ",".join(_fitting(members))


def own(task_id: str) -> Trace:
    """The trace of a task whose caller began none."""
    return Trace(_hash("trace", task_id)[:32])


def span_id(task_id: str, *what: str | int) -> str:
    """The id of what was done to a task: `submit`; `run` and its attempt; `callback` and its try."""
    return _hash("span", task_id, *what)[:16]


def _fitting(members: Sequence[str]) -> Sequence[str]:
    if len(",".join(members)) <= MAX_STATE:
        return members
    short = [member for member in members if len(member) <= LONG_MEMBER]
    while len(",".join(short)) > MAX_STATE:
        short.pop()
    return short


def _hash(*parts: str | int) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


class Met:
    """The traces of the tasks that this process has met of late, for its log lines."""

    def __init__(self, most: int = 10_000) -> None:
        self._traces: OrderedDict[str, Trace | None] = OrderedDict()
        self._most, self._lock = most, threading.Lock()

    def note(self, task_id: str, trace: Trace | None) -> None:
        """Remember it; None for a task that has a trace of its own."""
        with self._lock:
            self._traces[task_id] = trace
            self._traces.move_to_end(task_id)
            if len(self._traces) > self._most:
                self._traces.popitem(last=False)

    def trace_id(self, task_id: str) -> str | None:
        """None for a task that was not met: what is guessed could be another's trace."""
        with self._lock:
            if task_id not in self._traces:
                return None
            trace = self._traces[task_id]
        return (trace or own(task_id)).trace_id


MET: Final = Met()
