"""`taskgate put-back`: the tasks table becomes what a restored copy of it is."""

from __future__ import annotations

from typing import Annotated

import typer

from taskgate.cli.exits import Exit
from taskgate.cli.office import Apply, Local, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, print_json, say

Everything = Annotated[
    bool, typer.Option("--all", help="API keys, plans and switches too, not tasks alone.")
]
Copy = Annotated[str, typer.Option("--from", metavar="TABLE", help="The restored copy.")]


def put_back(
    *,
    copy: Copy,
    stage: StageName = None,
    local: Local = False,
    everything: Everything = False,
    apply: Apply = False,
    as_json: AsJson = False,
) -> None:
    """Make the tasks table what a restored copy of it is; stop workers and functions before."""
    from taskgate.aws import clients, putting_back  # noqa: PLC0415

    office = open_office(stage, local=local)
    table = office.environment.tasks_table
    if copy == table:
        raise typer.BadParameter(f"--from names the copy, and {table} is the table itself")
    with at_work():
        done = putting_back.put_back(
            clients.dynamodb(), copy, table, apply=apply, everything=everything
        )
    if as_json:
        print_json({"table": table, "written": done.written, "removed": done.removed})
    else:
        say(f"{table}: ", (f"{done.written} items written, {done.removed} removed", "bold"))
    if not apply and (done.written or done.removed):
        aside("Nothing was changed: this is how many differ. Do it with --apply")
        raise typer.Exit(Exit.ENDED_BADLY)
