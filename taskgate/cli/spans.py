"""Spans and times as a person types them: 90, 90s, 10m, 2h, 1d; 2026-07-01T09:00 is local time."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

import typer

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SPAN: Final = re.compile(r"(\d{1,9})([smhd]?)")


def span(text: str) -> int:
    """Seconds."""
    found = _SPAN.fullmatch(text.strip().lower())
    if not found:
        raise typer.BadParameter(f"{text!r} is not a span like 90, 90s, 10m, 2h or 1d")
    return int(found[1]) * _UNITS[found[2]]


def moment(text: str) -> str:
    """RFC 3339 with an offset; a time without one is this machine's local time."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time like 2026-07-01T09:00") from None
    known = at if at.utcoffset() is not None else at.astimezone()
    return known.isoformat(timespec="milliseconds")


At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", parser=moment, help="Start then: 2026-07-01T09:00."),
]
In = Annotated[
    int | None,
    typer.Option("--in", metavar="SPAN", parser=span, help="Start after so long: 90s, 10m, 2h."),
]
QueueLimit = Annotated[
    int | None, typer.Option(metavar="SPAN", parser=span, help="End it when it waits longer.")
]
RunLimit = Annotated[
    int | None, typer.Option(metavar="SPAN", parser=span, help="End a run that takes longer.")
]
LifeLimit = Annotated[
    int | None,
    typer.Option("--deadline", metavar="SPAN", parser=span, help="End it after so long in all."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", parser=moment, help="Submitted then or later."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", parser=moment, help="Submitted before.")
]
