"""`taskgate cancel`, `reschedule`, `priority`, `extend`, `recover`, `fail`, `pause`, `resume` and `retry`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from taskgate.cli.options import AsJson, TaskId, client_of
from taskgate.cli.printing import aside, out, print_json
from taskgate.cli.spans import At, In, span
from taskgate.cli.story import headline
from taskgate.client import Task

Reason = Annotated[str, typer.Option(help="Kept in the task's history.")]


class Mode(StrEnum):
    SOFT = "soft"
    HARD = "hard"


def cancel(
    context: typer.Context,
    task_id: TaskId,
    mode: Annotated[
        Mode, typer.Option(help="soft keeps the result for your next same submit, hard stops it.")
    ] = Mode.SOFT,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Ask a task to end; one that has ended is left as it is, and shown."""
    task = client_of(context).cancel(task_id, mode=mode.value, reason=reason)
    _show(task, as_json=as_json)
    if not as_json and (told := task.raw.get("told")):
        aside(str(told))


def reschedule(
    context: typer.Context,
    task_id: TaskId,
    at: At = None,
    after: In = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Move the start of a scheduled task."""
    if (at is None) == (after is None):
        raise typer.BadParameter("give --at or --in, one of the two")
    task = client_of(context).reschedule(task_id, run_at=at, delay=after, reason=reason)
    _show(task, as_json=as_json)


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


def priority(
    context: typer.Context,
    task_id: TaskId,
    priority: Annotated[Priority, typer.Argument(help="low, normal or high.")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Give a task that waits another priority."""
    task = client_of(context).prioritize(task_id, priority.value, reason=reason)
    _show(task, as_json=as_json)


def extend(
    context: typer.Context,
    task_id: TaskId,
    more: Annotated[
        int, typer.Argument(metavar="SPAN", parser=span, help="How much more: 90s, 10m, 2h.")
    ],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Give a run more time, on top of what it has."""
    _show(client_of(context).extend(task_id, more, reason=reason), as_json=as_json)


def recover(
    context: typer.Context, task_id: TaskId, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Run a stalled task again now."""
    _show(client_of(context).recover(task_id, reason=reason), as_json=as_json)


def fail(
    context: typer.Context, task_id: TaskId, reason: Reason = "", as_json: AsJson = False
) -> None:
    """End a stalled task as failed."""
    _show(client_of(context).fail(task_id, reason=reason), as_json=as_json)


def pause(
    context: typer.Context, task_id: TaskId, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Hold a waiting task back (operators)."""
    _show(client_of(context).pause(task_id, reason=reason), as_json=as_json)


def resume(
    context: typer.Context, task_id: TaskId, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Let a paused task go on (operators)."""
    _show(client_of(context).resume(task_id, reason=reason), as_json=as_json)


def retry(
    context: typer.Context, task_id: TaskId, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Give a failed or timed-out task another life under its id."""
    _show(client_of(context).retry(task_id, reason=reason), as_json=as_json)


def _show(task: Task, *, as_json: bool) -> None:
    if as_json:
        print_json(dict(task.raw))
    else:
        out().print(headline(task))
