"""`taskgate reconcile`: prove that every task is accounted for, and repair what is not."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskgate.cli.exits import Exit
from taskgate.cli.last_proof import show_last
from taskgate.cli.office import Apply, Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, table

if TYPE_CHECKING:
    from taskgate.gateway.office.reconciling import Report

SEGMENTS: Final = 4
DEFAULT_PACE: Final = 200.0
LONGEST_MS: Final = 24 * 3_600_000


def reconcile(
    stage: StageName = None,
    local: Local = False,
    apply: Apply = False,
    rate: Annotated[
        float, typer.Option(min=1, help="Read units a second at most: 200 is about 1.6 MB/s.")
    ] = DEFAULT_PACE,
    last: Annotated[
        bool, typer.Option("--last", help="Only show what the hourly run found last.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Prove every user's books and every task's clock; exit 1 while anything differs."""
    if last and apply:
        raise typer.BadParameter("--last repairs nothing: leave --apply out")
    office = open_office(stage, local=local)
    if last:
        show_last(office, as_json=as_json)
        return
    with at_work():
        report = _checked(office, apply=apply, rate=rate)
    if as_json:
        print_json(_as_json(report))
    else:
        _show(report, office.deployment, apply=apply)
    if report.left or not report.finished:
        raise typer.Exit(Exit.ENDED_BADLY)


def _checked(office: Office, *, apply: bool, rate: float) -> Report:
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.audit import DynamoAudit  # noqa: PLC0415
    from taskgate.gateway.office.reconciling import reconcile as checked  # noqa: PLC0415

    audit = DynamoAudit(
        clients.dynamodb(),
        table=office.environment.tasks_table,
        clock_shards=office.environment.clock_shards,
        pace=rate,
    )
    stop_at = office.ports.now() + LONGEST_MS
    segments = range(SEGMENTS)
    return checked(
        office.ports, audit, apply=apply, segments=segments, of=SEGMENTS, stop_at=stop_at
    )


def _as_json(report: Report) -> dict[str, object]:
    return {
        "tasks": report.tasks,
        "books": report.books,
        "finished": report.finished,
        "unaccounted": report.unaccounted,
        "repaired": report.repaired,
        "left": report.left,
        "differences": [
            {**asdict(d.flaw), "owner": d.owner, "outcome": d.outcome} for d in report.differences
        ],
    }


def _show(report: Report, deployment: str, *, apply: bool) -> None:
    if report.differences:
        rows = table("what", "task or owner", "found", "expected", "outcome")
        for d in report.differences:
            whose = d.flaw.task_id or d.owner
            cells = (d.flaw.kind, whose, d.flaw.found, d.flaw.expected, d.outcome)
            rows.add_row(*map(plain, cells))
        out().print(rows)
    say(
        f"{report.tasks} tasks and {report.books} books looked at: ",
        (f"{report.unaccounted} unaccounted", "bold red" if report.left else "bold green"),
        f", {report.repaired} repaired, {report.left} left",
    )
    if not report.finished:
        aside("Not everything was looked at: run it again.")
    if report.left and not apply:
        aside(f"Nothing was changed. Repair with: taskgate reconcile --apply {deployment}")
