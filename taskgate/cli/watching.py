"""`taskgate watch`, and the waiting of `taskgate submit --wait`."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from taskgate.cli.live import display
from taskgate.cli.options import AsJson, TaskId, Timeout, client_of
from taskgate.cli.printing import aside, out, print_json
from taskgate.cli.story import told
from taskgate.client import Task, Taskgate, TaskHandle


def watch(
    context: typer.Context, task_id: TaskId, timeout: Timeout = None, as_json: AsJson = False
) -> None:
    """Look on until a task has ended; with --json one line of JSON a change."""
    follow(client_of(context), task_id, timeout=timeout, as_json=as_json)


def follow(
    client: Taskgate,
    task_id: str,
    *,
    timeout: float | None,
    as_json: bool,
    whole: bool = False,
) -> Task:
    """Show a task until it has ended; raises its bad end. `whole` prints one JSON, at the end."""
    handle = client.handle(task_id)
    try:
        task = _waited(handle, timeout) if whole else _shown(handle, timeout, as_json=as_json)
    except KeyboardInterrupt:
        aside(f"The task goes on. Look again with: taskgate watch {task_id}")
        raise
    if bad := task.bad_end():
        raise bad
    return task


def looks(handle: TaskHandle, timeout: float | None) -> Iterator[Task]:
    """The task at each look, with its history, which is fetched only when it has grown."""
    known: Task | None = None
    for task in handle.updates(timeout):
        if known is None or (task.state, task.attempt) != (known.state, known.attempt):
            known = handle.get()
        known = known.at(task)
        yield known


def _waited(handle: TaskHandle, timeout: float | None) -> Task:
    handle.wait(timeout)
    task = handle.get()
    print_json(dict(task.raw))
    return task


def _shown(handle: TaskHandle, timeout: float | None, *, as_json: bool) -> Task:
    with display(as_json=as_json) as shown:
        for task in looks(handle, timeout):
            shown.show(task)
    if not as_json:
        out().print(told(task))
    return task
