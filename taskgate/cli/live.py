"""Watching a task: a live display on a terminal, one line a change in a pipe."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from taskgate.cli.printing import out, plain, print_json, say, state_text
from taskgate.cli.story import age, duration_text, headline, life
from taskgate.client import Task


class Display(Protocol):
    """Shows a task as it changes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, task: Task) -> None: ...


def display(*, as_json: bool) -> Display:
    """What fits where the output goes."""
    console = out()
    if as_json:
        return Lines(_json_line)
    return Screen(console) if console.is_terminal else Lines(_text_line)


class Screen:
    """State, stage, progress, attempt and elapsed time, and the history as it grows."""

    def __init__(self, console: Console) -> None:
        self._task: Task | None = None
        # Transient: the whole story is printed once the task has ended.
        self._live = Live(
            console=console, get_renderable=self._render, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, task: Task) -> None:
        self._task = task

    def _render(self) -> RenderableType:
        # Rendered again eight times a second, so that the elapsed time runs between two looks.
        task = self._task
        if task is None:
            return Text("looking …", style="dim")
        return Group(headline(task), _bar(task), life(task.history))


class Lines:
    """A line for each change, for pipes and logs."""

    def __init__(self, line: Callable[[Task], None]) -> None:
        self._line = line
        self._last: object = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, task: Task) -> None:
        seen = (task.state, task.attempt, task.stage, task.progress)
        if seen != self._last:
            self._last = seen
            self._line(task)


def _bar(task: Task) -> Table:
    row = Table.grid(padding=(0, 2, 0, 0))
    span = age(task)
    row.add_row(
        ProgressBar(total=1.0, completed=task.progress, width=30),
        Text(f"{task.progress:4.0%}"),
        Text(plain(task.stage), style="cyan"),
        Text(f"attempt {task.attempt}"),
        Text(duration_text(span) if span else "", style="dim"),
    )
    return row


def _json_line(task: Task) -> None:
    print_json(task.raw)


def _text_line(task: Task) -> None:
    figures = f"  attempt {task.attempt}  {task.progress:.0%}  {plain(task.stage)}"
    say((task.id, "bold"), "  ", state_text(task.state), figures)
