"""`taskgate bulk`: one act for many tasks, after a dry run and with a confirm token."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from taskgate.cli.office import Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, state_text, table
from taskgate.cli.spans import moment

if TYPE_CHECKING:
    from taskgate.bulks import Bulk, Wanted
    from taskgate.gateway.office.bulk import DryRun

Act = Annotated[str, typer.Argument(metavar="ACT", help="cancel, reopen (redrive) or redeliver.")]
BulkId = Annotated[str, typer.Argument(metavar="BULK", help="bulk_…")]

Word = TypeVar("Word", bound=StrEnum)

app = typer.Typer(no_args_is_help=True, help="Act on many tasks: plan, confirm, show, stop.")


@app.command("plan")
def plan(
    act: Act,
    *,
    reason: Annotated[str, typer.Option(help="Kept in each task's history.")],
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    user: Annotated[str | None, typer.Option(help="Only of this user of the tenant.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only of this task type.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Only in it; again for more.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", parser=moment, help="Created at or after this.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", parser=moment, help="Created before this.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="Only with this error code.")] = None,
    day: Annotated[str | None, typer.Option(help="Ended badly on this UTC day.")] = None,
    callback: Annotated[str | None, typer.Option(help="Whose callback was given_up …")] = None,
    stage: StageName = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show what would be done, to how many, and the token that confirms it. Changes nothing."""
    from taskgate.bulks import ACTS  # noqa: PLC0415
    from taskgate.gateway.office import bulk  # noqa: PLC0415

    if act not in ACTS:
        raise typer.BadParameter(f"one of {', '.join(ACTS)}")
    wanted = _wanted(
        tenant=tenant, user=user, type=type_, states=state, since=since, until=until,
        code=code, day=day, callback=callback,
    )  # fmt: skip
    office = open_office(stage, local=local)
    with at_work():
        shards = office.environment.clock_shards
        dry = bulk.plan(office.ports, office.who, ACTS[act], wanted, reason, shards)
    _show_plan(dry, office.deployment, as_json=as_json)


@app.command("confirm")
def confirm(
    bulk_id: BulkId,
    token: Annotated[str, typer.Argument(help="As the dry run gave it.")],
    *,
    stage: StageName = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Start what a dry run showed; the work is done in the minutes that follow."""
    from taskgate.gateway.office import bulk  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        started = bulk.confirm(office.ports, office.who, bulk_id, token)
    _show(started, as_json=as_json)


@app.command("show")
def show(
    bulk_id: BulkId, *, stage: StageName = None, local: Local = False, as_json: AsJson = False
) -> None:
    """Show how far it is."""
    from taskgate.gateway.office import bulk  # noqa: PLC0415

    office: Office = open_office(stage, local=local)
    with at_work():
        found = bulk.found(office.ports, office.who, bulk_id)
    _show(found, as_json=as_json)


@app.command("list")
def recent(*, stage: StageName = None, local: Local = False, as_json: AsJson = False) -> None:
    """Show the latest of them, and how far each is."""
    from taskgate.gateway.office import bulk  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        found = bulk.recent(office.ports, office.who).rows
    if as_json:
        print_json({"bulks": [_as_json(one) for one in found]})
        return
    if not found:
        say("There was no bulk act in the last 90 days")
    for one in found:
        _show(one, as_json=False)


@app.command("stop")
def stop(
    bulk_id: BulkId, *, stage: StageName = None, local: Local = False, as_json: AsJson = False
) -> None:
    """Do no further page of it; what was done stays done."""
    from taskgate.gateway.office import bulk  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        stopped = bulk.stop(office.ports, office.who, bulk_id)
    _show(stopped, as_json=as_json)


def _wanted(**given: Any) -> Wanted:
    from datetime import datetime  # noqa: PLC0415

    from taskgate.bulks import Wanted  # noqa: PLC0415
    from taskgate.lifecycle.retry import ErrorCode  # noqa: PLC0415
    from taskgate.lifecycle.states import State  # noqa: PLC0415
    from taskgate.task import CallbackState  # noqa: PLC0415

    for name in ("since", "until"):
        if given[name]:
            given[name] = round(datetime.fromisoformat(given[name]).timestamp() * 1000)
    given["states"] = frozenset(_one_of("state", word, State) for word in given["states"] or ())
    given["code"] = given["code"] and _one_of("code", given["code"], ErrorCode)
    given["callback"] = given["callback"] and _one_of("callback", given["callback"], CallbackState)
    return Wanted(**given)


def _one_of(name: str, word: str, known: type[Word]) -> Word:
    from taskgate.nearest import must_be_one_of  # noqa: PLC0415

    try:
        return known(word)
    except ValueError:
        raise typer.BadParameter(f"{name} {must_be_one_of(known, word)}") from None


def _show_plan(dry: DryRun, deployment: str, *, as_json: bool) -> None:
    bulk = dry.bulk
    if as_json:
        cost = {"calls": dry.calls, "minutes": dry.minutes}
        sample = [task.id for task in dry.sample]
        print_json({**_as_json(bulk), **cost, "sample": sample, "token": dry.token})
        return
    rows = table("id", "type", "state", "owner")
    for task in dry.sample:
        rows.add_row(task.id, plain(task.type), state_text(task.state), plain(str(task.owner)))
    if dry.sample:
        out().print(rows)
    least = "" if bulk.counted_all else "at least "
    say((f"{least}{bulk.count} tasks", "bold"), f" to {bulk.act}")
    if not bulk.count and bulk.counted_all:
        aside("Nothing fits the filter, so there is nothing to confirm.")
        return
    aside(f"About {dry.calls} AWS calls, and {dry.minutes} min or more. Nothing was changed.")
    aside(f"Within 10 minutes: taskgate bulk confirm {bulk.id} {dry.token} {deployment}")


def _show(bulk: Bulk, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(bulk))
        return
    say((bulk.id, "bold"), f"  {bulk.act}  {bulk.state}: {_progress(bulk)}")
    if bulk.found_done:
        aside(f"{bulk.found_done} were met again and left as they were")
    for reason, count in bulk.failed.items():
        aside(f"{count} left: {plain(reason)}")


def _progress(bulk: Bulk) -> str:
    """Something is left to do of what runs, and of nothing else."""
    from taskgate.bulks import BulkState  # noqa: PLC0415

    if bulk.state is BulkState.PLANNED:
        return f"{bulk.count} tasks fitted, not confirmed"
    if bulk.state is BulkState.STOPPED:
        return f"{bulk.done} of about {bulk.count} done, the rest is left as it is"
    left = f", about {bulk.left} left" if bulk.state is BulkState.RUNNING else ""
    return f"{bulk.done} done{left}"


def _as_json(bulk: Bulk) -> dict[str, object]:
    from taskgate.gateway.announcing import rfc3339  # noqa: PLC0415

    return {
        "id": bulk.id,
        "act": bulk.act,
        "state": bulk.state,
        "count": bulk.count,
        "counted_all": bulk.counted_all,
        "done": bulk.done,
        "found_done": bulk.found_done,
        "failed": dict(bulk.failed),
        "left": bulk.left,
        "operator": str(bulk.operator),
        "reason": bulk.reason,
        "started_at": rfc3339(bulk.started_at) if bulk.started_at else None,
    }
