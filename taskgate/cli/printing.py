"""Where output goes: strict JSON or text to stdout, errors and asides to stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from taskgate.cli.exits import CommandError, advice_of, what_of
from taskgate.client import ClientError

PIPE_WIDTH: Final = 200
STATE_STYLES: Final = {
    "succeeded": "bold green",
    "failed": "bold red",
    "timed_out": "bold red",
    "canceled": "bold yellow",
    "stalled": "yellow",
    "retrying": "yellow",
    "canceling": "yellow",
    "processing": "bold cyan",
}


def out() -> Console:
    """Standard output as it is now; in a pipe no line is broken or cut."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def err() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(*parts: str | Text | tuple[str, str]) -> None:
    """A line of text, broken by the terminal alone, so that a URI in it can be copied whole."""
    out().print(Text.assemble(*parts), soft_wrap=True)


def print_json(value: object) -> None:
    """One JSON value on a line. ASCII, so that no terminal's or pipe's encoding can break it."""
    print(json.dumps(value, allow_nan=False), flush=True)


def print_error(error: ClientError | CommandError) -> None:
    """One line what, one line what to do."""
    console = err()
    console.print(Text.assemble(("error: ", "bold red"), plain(what_of(error))))
    console.print(Text(f"       {plain(advice_of(error))}"))


def aside(text: str) -> None:
    """A word to the person at the terminal that must not get into a pipe."""
    err().print(Text(plain(text), style="dim"))


def table(*columns: str) -> Table:
    """A table without lines."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        if column in {"size", "lasted"}:
            made.add_column(column, justify="right")
        else:
            # An id that is cut cannot be copied: other columns give way first.
            made.add_column(column, no_wrap=column == "id")
    return made


def state_text(state: str) -> Text:
    return Text(plain(state), style=STATE_STYLES.get(state, ""))


def plain(text: str) -> str:
    """Without control characters: what a stranger wrote must not steer this terminal."""
    return "".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Cs"} else c for c in text)


def size_of(count: int) -> str:
    """A count of bytes for people, in the units in which the limits are said: 20 MiB, 1.5 KiB."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        # What rounds to 1024.0 is one of the next unit.
        if round(size, 1) < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"
