"""`taskgate get`, `result`, `list`, `stats` and `types`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from taskgate.cli.inputs import Labels, read_labels
from taskgate.cli.options import AsJson, OutFolder, TaskId, client_of
from taskgate.cli.printing import aside, out, plain, print_json, say, state_text, table
from taskgate.cli.spans import Since, Until
from taskgate.cli.story import age, day_text, duration_text, files, told
from taskgate.client import Stats, Task, TaskType
from taskgate.nearest import did_you_mean, in_words


def get(context: typer.Context, task_id: TaskId, as_json: AsJson = False) -> None:
    """Show a task: how it stands, its life, its files."""
    task = client_of(context).get(task_id)
    if as_json:
        print_json(dict(task.raw))
    else:
        out().print(told(task))


def result(
    context: typer.Context, task_id: TaskId, folder: OutFolder = None, as_json: AsJson = False
) -> None:
    """Show what a task brought; --out saves the files, each checked against its sha256."""
    client = client_of(context)
    brought = client.result(task_id)
    saved = [str(path) for path in client.download(task_id, folder)] if folder else []
    if as_json:
        print_json(asdict(brought) | {"saved": saved})
        return
    out().print(files(brought))
    for path in saved:
        say(path)
    if not folder:
        aside(f"taskgate result {task_id} --out DIR saves them")


def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    state: Annotated[str | None, typer.Option(help="Of these states, with commas.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Of this task type.")] = None,
    since: Since = None,
    until: Until = None,
    labels: Labels = None,
    as_json: AsJson = False,
) -> None:
    """List your tasks, newest first."""
    page = 100 if everything else min(limit, 100)
    found = client_of(context).list(
        page,
        state=state,
        type=type_,
        since=since,
        until=until,
        metadata=read_labels(labels or ()),
    )
    tasks = list(islice(found, None if everything else limit))
    if as_json:
        print_json({"tasks": [dict(task.raw) for task in tasks]})
        return
    filtered = any((state, type_, since, until, labels))
    none = Text("No task fits." if filtered else "No tasks yet.", style="dim")
    out().print(_rows(tasks) if tasks else none)


def _rows(tasks: Iterable[Task]) -> Table:
    rows = table("id", "type", "state", "attempt", "created", "lasted")
    for task in tasks:
        span = age(task)
        rows.add_row(
            task.id,
            plain(task.type),
            state_text(task.state),
            str(task.attempt),
            day_text(task.created_at),
            duration_text(span) if span else "",
        )
    return rows


def stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Show your books: every task you submitted is in exactly one of them."""
    books = client_of(context).stats()
    if as_json:
        print_json(asdict(books))
        return
    rows = table("tasks", "")
    for name in ("submitted", "active", "succeeded", "failed", "timed_out", "canceled"):
        rows.add_row(name, str(getattr(books, name)))
    out().print(rows, Text(_means(books), style="dim"))


def types(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show this one's input schema.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the kinds of work that the gateway takes, or show one's input schema."""
    known = client_of(context).task_types()
    found = [t for t in known if name in {None, t.name}]
    if name and not found:
        names = [t.name for t in known]
        told = did_you_mean(name, names) or f"; there are {in_words(names)}"
        raise typer.BadParameter(f"there is no task type {name}{told}")
    if as_json:
        print_json({"task_types": [asdict(t) for t in found]})
    elif name:
        out().print_json(data=dict(found[0].input_schema))
    else:
        out().print(*(_type_text(t) for t in found), sep="\n")


def _means(books: Stats) -> str:
    named = (("mean wait", books.mean_wait_seconds), ("mean run", books.mean_run_seconds))
    parts = [f"{name} {seconds:.3f} s" for name, seconds in named if seconds is not None]
    parts.append("the books balance" if books.balanced else "THE BOOKS DO NOT BALANCE")
    return " · ".join(parts)


def _type_text(kind: TaskType) -> Text:
    fields = kind.input_schema.get("properties", {})
    required = set(kind.input_schema.get("required", ()))
    names = ", ".join(f"{name}*" if name in required else name for name in fields)
    return Text.assemble((plain(kind.name), "bold"), f"  {plain(kind.title)}\n  ", (names, "dim"))
