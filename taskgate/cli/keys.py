"""`taskgate keys`: issue, list, rotate and revoke API keys. A secret is shown once, at its birth."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.office import Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, table

if TYPE_CHECKING:
    from taskgate.aws.keys import DynamoKeys
    from taskgate.keystore import ApiKey
    from taskgate.marks import Acting

UNITS: Final = {"h": 3600, "d": 86_400}
DEFAULT_SCOPES: Final = ("tasks:read", "tasks:write")

KeyId = Annotated[str, typer.Argument(metavar="KEY_ID", help="The 12 letters behind `tg_`.")]
Expires = Annotated[
    str | None, typer.Option(metavar="TIME", help="It ends after: 12h, 90d. Without it: never.")
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        help="tasks:read, tasks:write, delegate, admin or operator; again for more."
        " Default: both tasks."
    ),
]
MaxPending = Annotated[
    int | None, typer.Option(min=1, help="Unfinished tasks, instead of the plan's.")
]

app = typer.Typer(no_args_is_help=True, help="Issue, list, rotate and revoke API keys.")


@app.command("issue")
def issue(
    tenant: Annotated[str, typer.Option(help="Whose tasks the key sees.")],
    user: Annotated[str, typer.Option(help="The user in the tenant.")],
    *,
    stage: StageName = None,
    local: Local = False,
    scope: Scopes = None,
    plan: Annotated[str, typer.Option(help="The plan that sets its limits.")] = "free",
    max_pending: MaxPending = None,
    expires: Expires = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, this once, with the secrets that sign the tenant's callbacks."""
    from taskgate import apikeys  # noqa: PLC0415
    from taskgate.task import Owner  # noqa: PLC0415

    scopes, lasts = _scopes(scope or DEFAULT_SCOPES), _seconds(expires)
    for name in (tenant, user, plan):
        _check_name(name)
    office = open_office(stage, local=local)
    with _changing(office):
        signing = _signing_secrets(office, tenant)
        by = _acting(office)
        text = apikeys.issue(
            _keys(office),
            Owner(tenant, user),
            scopes,
            max_pending=max_pending,
            plan=plan,
            expires_at=lasts and by.at // 1000 + lasts,
            by=by,
        )
    _show_new(text, as_json=as_json, webhook_secrets=signing)
    _tell_of_unset_plan(office, plan)


@app.command("list")
def list_(
    *,
    stage: StageName = None,
    local: Local = False,
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show every key with its owner, rights, state and trail; never a secret."""
    from taskgate.apikeys import every  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        found = [k for k in every(_keys(office)) if tenant in (None, k.owner.tenant)]
    found.sort(key=lambda key: (str(key.owner), key.id))
    if as_json:
        print_json([_as_json(key) for key in found])
    else:
        _show(found)


@app.command("rotate")
def rotate(
    key_id: KeyId,
    *,
    stage: StageName = None,
    local: Local = False,
    overlap: Annotated[str, typer.Option(metavar="TIME", help="The old key works on for.")] = "24h",
    expires: Expires = None,
    as_json: AsJson = False,
) -> None:
    """Make a key with the same rights; the old one ends after the overlap."""
    from taskgate import apikeys  # noqa: PLC0415

    seconds, lasts = _seconds(overlap) or 0, _seconds(expires)
    office = open_office(stage, local=local)
    with _changing(office):
        by = _acting(office)
        ends = lasts and by.at // 1000 + lasts
        text = apikeys.rotate(_keys(office), key_id, by, overlap=seconds, expires_at=ends)
    _show_new(text, as_json=as_json)
    aside(f"The old key {key_id} works on for {overlap} at most.")


@app.command("revoke")
def revoke(
    key_id: KeyId, *, stage: StageName = None, local: Local = False, as_json: AsJson = False
) -> None:
    """End a key now; the HTTP API may remember it for a minute."""
    from taskgate import apikeys  # noqa: PLC0415

    office = open_office(stage, local=local)
    with _changing(office):
        key = apikeys.revoke(_keys(office), key_id, _acting(office))
    if as_json:
        print_json(_as_json(key))
    else:
        say(f"{key.id} of {key.owner} is revoked")


def _keys(office: Office) -> DynamoKeys:
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.keys import DynamoKeys  # noqa: PLC0415

    return DynamoKeys(clients.dynamodb(), table=office.environment.tasks_table)


def _tell_of_unset_plan(office: Office, plan: str) -> None:
    """A key may be issued before its plan is set; a slip of the pen looks the same."""
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.plans import DynamoPlans  # noqa: PLC0415
    from taskgate.gateway.office.plan_keeping import every_plan  # noqa: PLC0415

    with at_work():
        found = every_plan(DynamoPlans(clients.dynamodb(), table=office.environment.tasks_table))
    if plan not in {known.name for known in found}:
        aside(f"No plan {plan} is set: until it is, the key has the limits of free.")


def _acting(office: Office) -> Acting:
    from taskgate.gateway.office.key_keeping import acting  # noqa: PLC0415

    return acting(office.who, office.ports.now())


def _signing_secrets(office: Office, tenant: str) -> list[str]:
    """Read before a key is stored: one that cannot be handed over whole is not issued."""
    from taskgate.aws.master import tenant_secrets  # noqa: PLC0415

    told = office.environment
    if told.webhook_master == "unset":
        return []
    return list(tenant_secrets(told.webhook_master, told.webhook_versions, tenant))


@contextmanager
def _changing(office: Office) -> Iterator[None]:
    from taskgate.errors import KeyEnded, UnknownKey  # noqa: PLC0415

    with at_work():
        try:
            yield
        except UnknownKey as error:
            told = f"See them: taskgate keys list {office.deployment}"
            raise CommandError(str(error), told, Exit.NOT_FOUND) from error
        except KeyEnded as error:
            told = f"Make one: taskgate keys issue {office.deployment}"
            raise CommandError(str(error), told, Exit.USAGE) from error


def _scopes(named: list[str] | tuple[str, ...]) -> frozenset[str]:
    from taskgate.principal import SCOPES  # noqa: PLC0415

    if unknown := set(named) - SCOPES:
        raise typer.BadParameter(
            f"no scope {', '.join(sorted(unknown))}; one of {', '.join(sorted(SCOPES))}"
        )
    return frozenset(named)


def _check_name(name: str) -> None:
    from taskgate.principal import NAME  # noqa: PLC0415

    if not NAME.fullmatch(name):
        raise typer.BadParameter("a name is 1 to 64 letters, digits, or one of _ . @ -")


def _seconds(span: str | None) -> int | None:
    if span is None:
        return None
    parsed = re.fullmatch(r"(\d{1,5})([hd])", span)
    if not parsed:
        raise typer.BadParameter("a time is a number and h or d, such as 12h or 90d")
    return int(parsed[1]) * UNITS[parsed[2]]


def _show_new(text: str, *, as_json: bool, **more: Any) -> None:
    from taskgate.apikeys import id_of  # noqa: PLC0415

    if as_json:
        print_json({"id": id_of(text), "key": text, **more})
        return
    say(text)
    for secret in more.get("webhook_secrets", ()):
        say(secret)
    aside("Keep them now: the key is not shown again. A whsec_ line verifies callbacks.")


def _show(found: list[ApiKey]) -> None:
    rows = table("id", "owner", "scopes", "plan", "expires", "state", "last change")
    for key in found:
        cells = (str(key.owner), " ".join(sorted(key.scopes)), key.plan or "", _ends(key))
        state = key.state(int(time.time()))
        rows.add_row(key.id, *map(plain, (*cells, state, _last(key))))
    out().print(rows)


def _last(key: ApiKey) -> str:
    """The local gateway's own key was issued by nobody."""
    if not key.trail:
        return ""
    last = key.trail[-1]
    return f"{last.what} by {last.who}" if last.who else last.what


def _ends(key: ApiKey) -> str:
    if not key.expires_at:
        return "never"
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(key.expires_at))


def _as_json(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "tenant": key.owner.tenant,
        "user": key.owner.user,
        "scopes": sorted(key.scopes),
        "plan": key.plan,
        "max_pending": key.max_pending,
        "expires_at": key.expires_at,
        "state": key.state(int(time.time())),
        "trail": [{"at": m.at, "who": m.who, "what": m.what} for m in key.trail],
    }
