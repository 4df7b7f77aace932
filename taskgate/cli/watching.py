"""`taskgate watch`, and the waiting of `taskgate submit --wait`."""

from __future__ import annotations

import typer

from taskgate.cli.live import Display, display
from taskgate.cli.options import AsJson, TaskId, Timeout, client_of
from taskgate.cli.printing import out, print_json
from taskgate.cli.story import told
from taskgate.client import Task, Taskgate


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
    if whole:
        task = client.handle(task_id).wait(timeout)
        print_json(dict(client.get(task_id).raw))
    else:
        with display(as_json=as_json) as shown:
            task = _shown(client, task_id, timeout, shown)
        if not as_json:
            out().print(told(task))
    if bad := task.bad_end():
        raise bad
    return task


def _shown(client: Taskgate, task_id: str, timeout: float | None, shown: Display) -> Task:
    """Light looks while nothing changes; the whole task, with its history, when something did."""
    known = None
    for task in client.updates(task_id, timeout):
        if known is None or (task.state, task.attempt) != (known.state, known.attempt):
            known = client.get(task_id)
        known = known.at(task)
        shown.show(known)
    assert known is not None, "updates end only with a task that has ended"  # noqa: S101
    return known
