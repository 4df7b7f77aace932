"""`taskgate reconcile --last`: what the hourly run found, from its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.office import Office, at_work
from taskgate.cli.printing import aside, out, plain, print_json, say, table

if TYPE_CHECKING:
    from taskgate.proofs import Proof, Proofs, ProofStore


def show_last(office: Office, *, as_json: bool) -> None:
    """Show the record; exit 1 when something differed or not everything was looked at."""
    from taskgate.gateway.office import proving  # noqa: PLC0415

    with at_work():
        proofs = proving.read(_store(office), office.who)
    if proofs.last is None:
        raise CommandError(
            "No run has come to its end yet.",
            "One begins each hour, and when POST /v1/admin/reconcile asks for it.",
            Exit.NOT_FOUND,
        )
    if as_json:
        print_json(proving.told(proofs, office.ports.now()))
    else:
        _show(proofs, proofs.last, office.ports.now())
    if proofs.last.differences or not proofs.last.finished:
        raise typer.Exit(Exit.ENDED_BADLY)


def _store(office: Office) -> ProofStore:
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.proofs import DynamoProofs  # noqa: PLC0415

    return DynamoProofs(clients.dynamodb(), table=office.environment.tasks_table)


def _show(proofs: Proofs, last: Proof, now: int) -> None:
    from taskgate.gateway.announcing import rfc3339  # noqa: PLC0415

    if last.findings:
        rows = table("what", "task or owner", "found", "expected")
        for f in last.findings:
            rows.add_row(*map(plain, (f.kind, f.task_id or f.owner, f.found, f.expected)))
        out().print(rows)
    say(
        f"{rfc3339(last.ended_at)}: {last.tasks} tasks and {last.books} books looked at: ",
        (f"{last.unaccounted} unaccounted", "bold red" if last.differences else "bold green"),
        f", {last.differences} differences",
    )
    for kind, count in last.kinds.items():
        aside(f"{count} × {kind}")
    if not last.finished:
        aside("Not everything was looked at: the next run begins at another part.")
    aside(f"Now: {proofs.stand(now)}")
