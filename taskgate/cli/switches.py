"""`taskgate pause`, `resume` and `switches`: hold one task back, or a lane, a type, all of the intake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskgate.cli import steering
from taskgate.cli.office import Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, table
from taskgate.cli.spans import span

if TYPE_CHECKING:
    from taskgate.switches import Switch

KINDS: Final = ("lane", "type", "intake")
TASK_PREFIX: Final = "task_"

What = Annotated[str, typer.Argument(metavar="ID|lane|type|intake", help="A task, or a switch.")]
Name = Annotated[str | None, typer.Argument(help="Of the lane or the type.")]
Why = Annotated[str, typer.Option("--reason", help="Kept, and told to whoever asks.")]
For = Annotated[
    int | None,
    typer.Option("--for", metavar="SPAN", parser=span, help="It ends by itself: 30m, 2h."),
]
Refuse = Annotated[bool, typer.Option("--refuse", help="Of a type: refuse its submits, too.")]


def pause(
    context: typer.Context,
    what: What,
    name: Name = None,
    *,
    reason: Why = "",
    for_: For = None,
    refuse: Refuse = False,
    stage: StageName = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Hold a waiting task back; or a lane, a type, the intake, until it is resumed (operators)."""
    if what not in KINDS:
        steering.pause(context, _only_task(what, name), reason=reason, as_json=as_json)
        return
    from taskgate.catalog import CATALOG  # noqa: PLC0415
    from taskgate.gateway import switching  # noqa: PLC0415
    from taskgate.switches import Kind, Switch  # noqa: PLC0415

    office = open_office(stage, local=local)
    until = None if for_ is None else office.ports.now() + for_ * 1000
    wanted = Switch(kind=Kind(what), name=name or "", until=until, refuse=refuse)
    with at_work():
        switch = switching.pause(office.ports, CATALOG, office.who, wanted, reason)
    _show(office, [switch], as_json=as_json)


def resume(
    context: typer.Context,
    what: What,
    name: Name = None,
    *,
    reason: Why = "",
    stage: StageName = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Let a paused task go on; or a lane, a type, the intake (operators)."""
    if what not in KINDS:
        steering.resume(context, _only_task(what, name), reason=reason, as_json=as_json)
        return
    from taskgate.catalog import CATALOG  # noqa: PLC0415
    from taskgate.gateway import switching  # noqa: PLC0415
    from taskgate.switches import Kind, Switch  # noqa: PLC0415

    office, wanted = open_office(stage, local=local), Switch(kind=Kind(what), name=name or "")
    with at_work():
        switch = switching.resume(office.ports, CATALOG, office.who, wanted, reason)
    _show(office, [switch], as_json=as_json)


def switches(*, stage: StageName = None, local: Local = False, as_json: AsJson = False) -> None:
    """Show what is paused, by whom, since when and why; and what was."""
    from taskgate.gateway import switching  # noqa: PLC0415

    office = open_office(stage, local=local)
    with at_work():
        found = switching.every(office.ports, office.who)
    _show(office, found, as_json=as_json)


def _only_task(what: str, name: str | None) -> str:
    if name is not None or not what.startswith(TASK_PREFIX):
        raise typer.BadParameter("a task's id alone; or lane NAME, type NAME, intake")
    return what


def _show(office: Office, found: Sequence[Switch], *, as_json: bool) -> None:
    now = office.ports.now()
    if as_json:
        print_json({"switches": [_as_json(switch, now) for switch in found]})
        return
    if not found:
        say("Nothing is paused, and nothing ever was")
        return
    rows = table("switch", "is", "by", "since", "until", "why")
    for switch in found:
        on = switch.on(now)
        times = (_time(switch.since), _time(switch.until) if on else _time(switch.held_at(now)))
        cells = (switch.key, "paused" if on else "open", switch.by, *times, switch.reason)
        rows.add_row(*map(plain, cells))
    out().print(rows)
    aside("A switch is minded everywhere within 5 seconds. What runs, runs on.")


def _time(at: int | None) -> str:
    from taskgate.gateway.announcing import rfc3339  # noqa: PLC0415

    return "" if not at else rfc3339(at)


def _as_json(switch: Switch, now: int) -> dict[str, object]:
    return {
        "kind": switch.kind.value,
        "name": switch.name,
        "paused": switch.on(now),
        "by": switch.by,
        "since": _time(switch.since) or None,
        "until": _time(switch.until) or None,
        "reason": switch.reason,
        "refuses": switch.refuse,
        "acts": [
            {"at": _time(act.at), "by": act.by, "what": act.what, "reason": act.reason}
            for act in switch.acts
        ],
    }
