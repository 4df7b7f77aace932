"""`taskgate callback`, `redeliver` and `webhook-secret`."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.console import Group

from taskgate.cli.options import AsJson, TaskId, client_of
from taskgate.cli.printing import aside, out, print_json, say
from taskgate.cli.story import attempts, callback_line
from taskgate.client import Callback


def callback(context: typer.Context, task_id: TaskId, as_json: AsJson = False) -> None:
    """Show how a task's callback stands, with its latest attempts."""
    _show(client_of(context).callback(task_id), as_json=as_json)


def redeliver(context: typer.Context, task_id: TaskId, as_json: AsJson = False) -> None:
    """Have the callback of an ended task sent once more."""
    _show(client_of(context).redeliver(task_id), as_json=as_json)


def webhook_secret(context: typer.Context, as_json: AsJson = False) -> None:
    """Print the secrets that sign your callbacks, the newest first."""
    secrets = client_of(context).webhook_secrets()
    if as_json:
        print_json({"secrets": secrets})
        return
    for secret in secrets:
        say(secret)
    if len(secrets) > 1:
        aside("It is being rotated: verify with all of them.")


def _show(callback: Callback, *, as_json: bool) -> None:
    if as_json:
        print_json(_plain(callback))
    else:
        out().print(Group(callback_line(callback), attempts(callback)))


def _plain(callback: Callback) -> dict[str, object]:
    shown = asdict(callback)
    shown["next_try_at"] = callback.next_try_at and callback.next_try_at.isoformat()
    shown["latest"] = [
        asdict(tried) | {"at": tried.at and tried.at.isoformat()} for tried in callback.latest
    ]
    return shown
