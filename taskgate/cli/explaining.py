"""`taskgate explain` and `taskgate queues`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import typer
from rich.text import Text

from taskgate.cli.options import AsJson, TaskId, client_of
from taskgate.cli.printing import aside, out, plain, print_json, say, state_text, table

_WORDS: Final = {"extend": " 10m", "priority": " high", "reschedule": " --in 1h"}
"""Of the verbs that take one, an example of what follows."""


def explain(context: typer.Context, task_id: TaskId, as_json: AsJson = False) -> None:
    """Say why a task is where it is, what it waits for, and when the gateway looks next."""
    told = client_of(context).explain(task_id)
    if as_json:
        print_json(dict(told.raw))
        return
    say((told.id, "bold"), "  ", state_text(told.state))
    for sentence in told.sentences:
        say(plain(sentence))
    for action in told.actions:
        aside(f"taskgate {action} {told.id}{_more(action, told.state)}")


def _more(action: str, state: str) -> str:
    """What a verb must still be told; of a cancel that is under way only the harder one is left."""
    if action == "cancel" and state == "canceling":
        return " --mode hard"
    return _WORDS.get(action, "")


def queues(context: typer.Context, as_json: AsJson = False) -> None:
    """Show about how many wait in each lane (operators)."""
    found = client_of(context).queues()
    if as_json:
        print_json({"queues": [asdict(queue) for queue in found]})
        return
    rows = table("lane", "waiting")
    for queue in found:
        rows.add_row(
            plain(queue.lane), Text(str(queue.waiting), style="bold" if queue.waiting else "dim")
        )
    out().print(rows)
