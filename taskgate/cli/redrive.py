"""`taskgate redrive`: give tasks that ended badly another life, one or many, after a look."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskgate.cli.exits import Exit
from taskgate.cli.office import Apply, Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, state_text, table

if TYPE_CHECKING:
    from taskgate.gateway.office.redriving import Wanted
    from taskgate.task import Task

SAMPLE: Final = 10
UNITS: Final = {"m": 60, "h": 3600, "d": 86_400}

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="These tasks.")]
Code = Annotated[str | None, typer.Option(help="Only with this error code, such as poison.")]
TypeName = Annotated[str | None, typer.Option("--type", help="Only of this task type.")]
Since = Annotated[str, typer.Option(help="Ended badly no longer ago: 30m, 6h, 7d.")]
Limit = Annotated[int, typer.Option(min=1, help="So many at most.")]
Reason = Annotated[str, typer.Option(help="Kept in each task's history.")]


def redrive(
    ids: Ids = None,
    *,
    stage: StageName = None,
    local: Local = False,
    type_: TypeName = None,
    code: Code = None,
    since: Since = "24h",
    limit: Limit = 1000,
    reason: Reason = "redriven",
    apply: Apply = False,
    as_json: AsJson = False,
) -> None:
    """Show the tasks that failed or timed out and fit; --apply reopens them in small batches."""
    seconds = _seconds(since)
    office = open_office(stage, local=local)
    wanted = _wanted(office.ports.now() - seconds * 1000, type_, code)
    with at_work():
        tasks = _named(office, ids) if ids else _found(office, wanted, limit)
    if apply:
        _apply(office, [task.id for task in tasks], reason, as_json=as_json)
    elif as_json:
        print_json({"count": len(tasks), "tasks": [_as_json(task) for task in tasks]})
    else:
        _show(tasks)


def _seconds(since: str) -> int:
    parsed = re.fullmatch(r"([1-9]\d{0,4})([mhd])", since)
    if not parsed:
        raise typer.BadParameter("--since is a number and m, h or d, such as 6h")
    return int(parsed[1]) * UNITS[parsed[2]]


def _wanted(since: int, type_: str | None, code: str | None) -> Wanted:
    from taskgate.gateway.office.redriving import Wanted  # noqa: PLC0415
    from taskgate.lifecycle.retry import ErrorCode  # noqa: PLC0415

    if code is not None and code not in set(ErrorCode):
        raise typer.BadParameter(f"there is no error code {code}; one of {', '.join(ErrorCode)}")
    return Wanted(since=since, type=type_, code=ErrorCode(code) if code else None)


def _named(office: Office, ids: list[str]) -> list[Task]:
    tasks = {task_id: office.ports.tasks.get(task_id) for task_id in ids}
    missing = [task_id for task_id, task in tasks.items() if task is None]
    if missing:
        aside(f"Not on record: {', '.join(missing)}")
        raise typer.Exit(Exit.NOT_FOUND)
    return [task for task in tasks.values() if task is not None]


def _found(office: Office, wanted: Wanted, limit: int) -> list[Task]:
    from taskgate.gateway.office.redriving import found  # noqa: PLC0415

    return list(islice(found(office.ports, wanted), limit))


def _apply(office: Office, ids: list[str], reason: str, *, as_json: bool) -> None:
    from taskgate.catalog import CATALOG  # noqa: PLC0415
    from taskgate.gateway.office.redriving import BATCH, REOPENED, redrive  # noqa: PLC0415

    outcomes: dict[str, str] = {}
    for done in redrive(office.ports, CATALOG, office.who, ids, reason, time.sleep):
        outcomes[done.task_id] = done.outcome
        if len(outcomes) % BATCH == 0:
            aside(f"{len(outcomes)} of {len(ids)}")
    reopened = sum(outcome == REOPENED for outcome in outcomes.values())
    if as_json:
        print_json({"count": len(ids), "reopened": reopened, "outcomes": outcomes})
    else:
        for task_id, outcome in outcomes.items():
            if outcome != REOPENED:
                say(f"{task_id}  {plain(outcome)}")
        say((f"{reopened} of {len(ids)} reopened", "bold"))
    if reopened < len(ids):
        raise typer.Exit(Exit.ENDED_BADLY)


def _show(tasks: list[Task]) -> None:
    rows = table("id", "type", "state", "error", "attempts", "owner")
    for task in tasks[:SAMPLE]:
        error = task.error.code if task.error else ""
        cells = (error, str(task.attempt), str(task.owner))
        rows.add_row(task.id, plain(task.type), state_text(task.state), *map(plain, cells))
    if tasks:
        out().print(rows)
    if len(tasks) > SAMPLE:
        aside(f"… and {len(tasks) - SAMPLE} more")
    by_code = Counter(task.error.code if task.error else "none" for task in tasks)
    said = ", ".join(f"{count} {code}" for code, count in by_code.most_common())
    say((f"{len(tasks)} tasks", "bold"), f": {said}" if said else "")
    if tasks:
        aside("Nothing was changed. Reopen them with --apply")


def _as_json(task: Task) -> dict[str, object]:
    return {
        "id": task.id,
        "owner": str(task.owner),
        "type": task.type,
        "state": task.state,
        "error": task.error.code if task.error else None,
        "attempt": task.attempt,
        "ended_at": task.ended_at,
    }
