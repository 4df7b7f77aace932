"""From a caller's Python to what the gateway takes: times, spans, filters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from taskgate.client.errors import Unsendable

Moment = datetime | str
"""An aware datetime, or a text as the gateway takes it."""
Span = float | timedelta
"""Seconds, or a timedelta."""


def moment_text(at: Moment) -> str:
    """RFC 3339; a naive datetime is refused, since nobody knows which time zone it means."""
    if isinstance(at, str):
        return at
    if at.utcoffset() is None:
        raise Unsendable("A time needs a time zone: datetime.now(UTC), not datetime.now().")
    return at.isoformat(timespec="milliseconds")


def fields_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """An input, which is an object: a text or a list has no fields to send."""
    if not isinstance(value, Mapping):
        raise Unsendable(f"An input is a mapping of its fields, not a {type(value).__name__}.")
    return dict(value)


def seconds_of(span: Span) -> int:
    """Whole seconds, never less than was asked for."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    if not math.isfinite(seconds):
        raise Unsendable(f"{seconds} is no span of time.")
    return math.ceil(seconds)


def filters(
    state: str | Iterable[str] | None,
    type_: str | None,
    since: Moment | None,
    until: Moment | None,
    metadata: Mapping[str, str] | None,
) -> dict[str, str]:
    """The query of a list; what was not given is left out."""
    states = state if state is None or isinstance(state, str) else ",".join(state)
    found = {
        "state": states,
        "type": type_,
        "since": None if since is None else moment_text(since),
        "until": None if until is None else moment_text(until),
        **{f"metadata.{name}": text for name, text in (metadata or {}).items()},
    }
    return {name: text for name, text in found.items() if text is not None}
