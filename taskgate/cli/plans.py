"""`taskgate plans`: show the plans and set their limits while everything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.office import Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, size_of, table

if TYPE_CHECKING:
    from taskgate.aws.plans import DynamoPlans
    from taskgate.plans import Plan

UNLIMITED: Final = "none"

Name = Annotated[str, typer.Argument(metavar="PLAN", help="Such as free or paid.")]
Limit = Annotated[str | None, typer.Option(metavar="N", help="A number, or `none`: not limited.")]

app = typer.Typer(no_args_is_help=True, help="Show plans, and set their limits at run time.")


@app.command("show")
def show(*, stage: StageName = None, local: Local = False, as_json: AsJson = False) -> None:
    """Show every plan with its limits: those that were set, and those built in."""
    from taskgate.gateway.office.plan_keeping import every_plan  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        found = every_plan(_plans(office))
    if as_json:
        print_json([_as_json(plan) for plan in found])
    else:
        _show(found)


@app.command("set")
def set_(
    name: Name,
    *,
    stage: StageName = None,
    local: Local = False,
    max_pending: Annotated[int | None, typer.Option(help="Unfinished tasks of a user.")] = None,
    submits_per_minute: Limit = None,
    burst: Annotated[int | None, typer.Option(help="Submits that may come at once.")] = None,
    priority: Annotated[
        list[str] | None, typer.Option(help="high, normal or low; again for more.")
    ] = None,
    max_processing: Limit = None,
    max_upload_bytes: Limit = None,
    ledger_shards: Annotated[
        int | None, typer.Option(help="Items that a user's books are kept in.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set what is named and keep the rest; a new plan starts as `free` is built in."""
    changes = {
        "max_pending": max_pending,
        "submits_per_minute": _limit(submits_per_minute),
        "burst": burst,
        "priorities": frozenset(priority) if priority else None,
        "max_processing": _limit(max_processing),
        "max_upload_bytes": _limit(max_upload_bytes),
        "ledger_shards": ledger_shards,
    }
    _check_name(name)
    given = {field: value for field, value in changes.items() if value is not None}
    office = open_office(stage, local=local)
    with at_work():
        plan = _set(office, name, given)
    if as_json:
        print_json(_as_json(plan))
    else:
        _show([plan])
        say(f"{plan.name} is set; a key that was just used may have the old limits for a minute")


def _set(office: Office, name: str, given: dict[str, Any]) -> Plan:
    from taskgate.errors import BadSetting, PlanMoved  # noqa: PLC0415
    from taskgate.gateway.office.key_keeping import acting  # noqa: PLC0415
    from taskgate.gateway.office.plan_keeping import set_plan  # noqa: PLC0415

    fields = {field: None if value == UNLIMITED else value for field, value in given.items()}
    by = acting(office.who, office.ports.now())
    try:
        return set_plan(_plans(office), name, fields, by)
    except BadSetting as error:
        raise typer.BadParameter(str(error)) from error
    except PlanMoved as error:
        raise CommandError(
            f"Another operator set {name} at the same time.", "Look, then set it again.", Exit.USAGE
        ) from error


def _plans(office: Office) -> DynamoPlans:
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.plans import DynamoPlans  # noqa: PLC0415

    return DynamoPlans(clients.dynamodb(), table=office.environment.tasks_table)


def _limit(text: str | None) -> int | str | None:
    if text is None or text == UNLIMITED:
        return text
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter("a limit is a number, or none")
    return int(text)


def _check_name(name: str) -> None:
    from taskgate.principal import NAME  # noqa: PLC0415

    if not NAME.fullmatch(name):
        raise typer.BadParameter("a name is 1 to 64 letters, digits, or one of _ . @ -")


def _show(plans: Sequence[Plan]) -> None:
    columns = ("pending", "a minute", "at once", "priorities", "running", "upload", "books", "from")
    rows = table("plan", *columns)
    for plan in plans:
        rates = (plan.submits_per_minute or UNLIMITED, plan.burst, _names(plan))
        upload = size_of(plan.max_upload_bytes) if plan.max_upload_bytes else UNLIMITED
        source = "set" if plan.version else "built in"
        running = plan.max_processing or UNLIMITED
        cells = (plan.name, plan.max_pending, *rates, running, upload, plan.ledger_shards, source)
        rows.add_row(*(plain(str(cell)) for cell in cells))
    out().print(rows)
    aside(
        "pending: unfinished tasks of a user. running: tasks of a tenant at the same time."
        " books: shards of a user's ledger."
    )


def _names(plan: Plan) -> str:
    return " ".join(sorted(plan.priorities))


def _as_json(plan: Plan) -> dict[str, object]:
    return {**plan.terms, "trail": [{"at": m.at, "who": m.who, "what": m.what} for m in plan.trail]}
