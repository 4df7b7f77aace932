"""The life of a task as a person reads it: each state, when it began and how long it lasted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from taskgate.cli.printing import plain, size_of, state_text, table
from taskgate.client import Callback, Cancel, HistoryEntry, Result, Task


def told(task: Task) -> Group:
    """The whole task: what it is, how it stands, its life, and what it brought."""
    parts: list[RenderableType] = [headline(task), Text(_figures(task), style="dim")]
    if task.error:
        parts.append(Text(f"{plain(task.error.code)}: {plain(task.error.message)}", style="red"))
    if task.reused_from:
        parts.append(Text(f"the result of {plain(task.reused_from)}, reused", style="dim"))
    if task.cancel:
        parts.append(cancel_line(task.cancel))
    if task.history:
        parts += [Text(), life(task.history)]
    if task.result and task.result.files:
        parts += [Text(), files(task.result)]
    if task.parent or task.children:
        parts += [Text(), family(task)]
    if task.callback:
        parts += [Text(), callback_line(task.callback), attempts(task.callback)]
    return Group(*parts)


def headline(task: Task) -> Text:
    return Text.assemble(
        (task.id, "bold"), "  ", (plain(task.type), "dim"), "  ", state_text(task.state)
    )


def life(history: Iterable[HistoryEntry]) -> Table:
    """One row a change, and how long the task stayed in the state that it led to."""
    rows = table("time", "state", "lasted", "attempt", "verb", "by", "reason")
    for entry, lasted in _with_durations(tuple(history)):
        if entry.folded:
            rows.add_row("", Text(f"… {entry.folded} entries folded", style="dim"))
        rows.add_row(
            clock_text(entry.at),
            state_text(entry.to),
            lasted,
            str(entry.attempt or ""),
            plain(entry.verb),
            plain(entry.actor),
            Text(plain(entry.reason), style="dim"),
        )
    return rows


def cancel_line(cancel: Cancel) -> Text:
    """Asked, seen, stopped: each with its time."""
    steps = [("asked", cancel.asked_at), ("seen", cancel.seen_at), ("stopped", cancel.stopped_at)]
    told = " · ".join(f"{name} {clock_text(at) or '–'}" for name, at in steps)
    by = f" by {plain(cancel.asked_by)}" if cancel.asked_by else ""
    told += " · enforced" if cancel.enforced else ""
    told += f" · kept until {day_text(cancel.kept_until)}" if cancel.kept_until else ""
    told += f" · given to {plain(cancel.given_to)}" if cancel.given_to else ""
    return Text(f"{plain(cancel.mode)} cancel{by} · {told}", style="dim")


def family(task: Task) -> Table:
    """What it follows, and what follows it."""
    rows = table("", "id", "type", "state")
    if task.parent:
        rows.add_row("follows", task.parent, "", "")
    for child in task.children:
        state = state_text(child.state) if child.state else Text("not yet", style="dim")
        rows.add_row("then", child.id, plain(child.type or ""), state)
    if task.chain:
        rows.add_row("all of it", "", "", state_text(task.chain))
    return rows


def callback_line(callback: Callback) -> Text:
    """Whom the end is told to, and how that stands."""
    tries = "1 try" if callback.tries == 1 else f"{callback.tries} tries"
    later = f" · next {clock_text(callback.next_try_at)}" if callback.next_try_at else ""
    return Text.assemble(
        "callback  ",
        (plain(callback.url), "dim"),
        "  ",
        plain(callback.state),
        f" · {tries}{later}",
    )


def attempts(callback: Callback) -> Table:
    """One row an attempt."""
    rows = table("time", "status", "lasted", "reason", "detail")
    for tried in callback.latest:
        rows.add_row(
            clock_text(tried.at),
            "" if tried.status is None else str(tried.status),
            f"{tried.ms} ms",
            plain(tried.reason),
            Text(plain(tried.detail), style="dim"),
        )
    return rows


def files(result: Result) -> Table:
    """The files of a result."""
    rows = table("file", "size", "type", "sha256")
    for file in result.files:
        rows.add_row(
            plain(file.name), size_of(file.size), plain(file.content_type), file.sha256[:16]
        )
    return rows


def clock_text(at: datetime | None) -> str:
    """The local time of day, to the millisecond."""
    return at.astimezone().strftime("%H:%M:%S.%f")[:-3] if at else ""


def day_text(at: datetime | None) -> str:
    """The local day and time, to the second."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at else ""


def duration_text(span: timedelta) -> str:
    seconds = span.total_seconds()
    if seconds < 60:
        return f"{seconds:.3f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def between(start: datetime | None, end: datetime | None) -> timedelta | None:
    return end - start if start and end else None


def age(task: Task) -> timedelta | None:
    """From submit to the end, or until now."""
    return between(task.created_at, task.ended_at or datetime.now(UTC))


def _figures(task: Task) -> str:
    parts = [f"attempt {task.attempt}", f"progress {task.progress:.0%}"]
    if task.run_at and task.state == "scheduled":
        parts.append(f"starts {day_text(task.run_at)}")
    if task.stage and not task.ended:
        parts.append(plain(task.stage))
    named = (
        ("waited", between(task.created_at, task.started_at)),
        ("ran", between(task.started_at, task.ended_at)),
        ("in all" if task.ended else "age", age(task)),
    )
    parts += [f"{name} {duration_text(span)}" for name, span in named if span is not None]
    return " · ".join(parts)


def _with_durations(history: tuple[HistoryEntry, ...]) -> Iterator[tuple[HistoryEntry, str]]:
    for entry, following in pairwise(history):
        span = between(entry.at, following.at)
        yield entry, "" if span is None else duration_text(span)
    yield from ((entry, "") for entry in history[-1:])
