"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from taskgate.cli.connection import Connection
from taskgate.client import Taskgate

TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id: task_…")]
AsJson = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout, nothing else.")]
Timeout = Annotated[
    float | None, typer.Option(min=0, help="Seconds to wait at most; then exit 6.", metavar="S")
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", help="Save the result's files here.", file_okay=False)
]


def client_of(context: typer.Context) -> Taskgate:
    """A client for the gateway that this command line means; closed when the command ends."""
    connection: Connection = context.obj
    return context.with_resource(connection.client())
