"""`taskgate after-restore`: what lies beside a restored tasks table and is newer than it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from taskgate.cli.exits import Exit
from taskgate.cli.office import Apply, Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, table
from taskgate.cli.spans import moment

if TYPE_CHECKING:
    from taskgate.gateway.office.restoring import Finding

To = Annotated[
    str, typer.Option("--to", metavar="TIME", parser=moment, help="The moment of the restore.")
]


def after_restore(
    *,
    to: To,
    stage: StageName = None,
    local: Local = False,
    apply: Apply = False,
    as_json: AsJson = False,
) -> None:
    """Name the tasks that a restore of the tasks table lost, and raise the fences of the rest."""
    office = open_office(stage, local=local)
    with at_work():
        found = _found(office, to, apply=apply)
    if as_json:
        print_json({"count": len(found), "tasks": [_as_json(f) for f in found]})
    else:
        _show(found, apply=apply)
    if any(f.outcome.startswith("left") for f in found):
        raise typer.Exit(Exit.ENDED_BADLY)


def _found(office: Office, to: str, *, apply: bool) -> list[Finding]:
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.footprints import AwsFootprints  # noqa: PLC0415
    from taskgate.aws.ports import now  # noqa: PLC0415
    from taskgate.gateway.office.restoring import catch_up  # noqa: PLC0415

    footprints = AwsFootprints(
        clients.dynamodb(),
        clients.s3(),
        ephemeral=office.environment.ephemeral_table,
        bucket=office.environment.results_bucket,
        now=now,
    )
    restored_to = int(datetime.fromisoformat(to).timestamp() * 1000)
    return list(catch_up(office.ports, footprints, restored_to, apply=apply))


def _show(found: list[Finding], *, apply: bool) -> None:
    if not found:
        say(("Nothing beside the records is newer than they are.", "bold green"))
        return
    rows = table("task", "tenant", "what", "record knows", "ran", "outcome")
    for f in found:
        cells = (f.footprint.tenant, f.kind, str(f.known), str(f.footprint.attempt), f.outcome)
        rows.add_row(f.footprint.task_id, *map(plain, cells))
    out().print(rows)
    lost = sum(f.kind == "lost" for f in found)
    say(f"{len(found)} tasks, ", (f"{lost} of them lost", "bold red" if lost else "bold"))
    if lost:
        aside("Lost ones are answered 404: tell their owners, who submit again with the same key.")
    if not apply:
        aside("Nothing was changed. Raise the fences with --apply, before any worker starts.")


def _as_json(found: Finding) -> dict[str, object]:
    submitted = _submitted_at(found.footprint.task_id)
    return {
        "id": found.footprint.task_id,
        "tenant": found.footprint.tenant or None,
        "kind": found.kind,
        "submitted_at": submitted,
        "known_attempt": found.known,
        "last_attempt": found.footprint.attempt,
        "outcome": found.outcome,
    }


def _submitted_at(task_id: str) -> str | None:
    """An id tells its time; a follow-up's tells that of its parent."""
    from ulid import ULID  # noqa: PLC0415

    try:
        at = ULID.from_str(task_id.removeprefix("task_")).timestamp
    except ValueError:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
