"""`taskgate receivers`: which receivers of callbacks are out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from taskgate.cli.office import Local, Office, StageName, at_work, open_office
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, plain, print_json, say, table

if TYPE_CHECKING:
    from taskgate.receivers import Unwell


def receivers(*, stage: StageName = None, local: Local = False, as_json: AsJson = False) -> None:
    """Show the receivers that fail: whose they are, since when, and when they are tried next."""
    office = open_office(stage, local=local)
    with at_work():
        found = _all(office)
    if as_json:
        print_json({"receivers": [_as_json(one) for one in found]})
    else:
        _show(found, office.ports.now())


def _all(office: Office) -> list[Unwell]:
    """Those whose breaker is open first, the longest first."""
    from taskgate.gateway.outbox.receiving import unwell_receivers  # noqa: PLC0415

    found: list[Unwell] = []
    start: str | None = None
    while True:
        page = unwell_receivers(office.ports, office.who, start=start)
        found, start = [*found, *page.rows], page.next
        if start is None:
            return sorted(found, key=_rank)


def _rank(one: Unwell) -> tuple[bool, int, str]:
    health = one.health
    return not health.is_open, health.opened_at or -health.failures, one.receiver


def _show(found: list[Unwell], now: int) -> None:
    if not found:
        say("every receiver that was tried in the last 24 hours is well")
        return
    rows = table("tenant", "receiver", "breaker", "failures", "since", "next probe", "mark")
    for one in found:
        rows.add_row(*_row(one, now))
    out().print(rows)
    aside("Callbacks to an open one are put off, not lost: docs/runbook/receivers.md")


def _row(one: Unwell, now: int) -> tuple[str | Text, ...]:
    from taskgate.gateway.views.stories import about  # noqa: PLC0415
    from taskgate.receivers import mark_of  # noqa: PLC0415

    health = one.health
    since = f"{about(now - health.opened_at)} ago" if health.opened_at else "-"
    ahead = health.next_probe_at - now
    probe = (f"in {about(ahead)}" if ahead > 0 else "due") if health.is_open else "-"
    breaker = Text(health.breaker, style="bold red" if health.is_open else "yellow")
    failures = str(health.failures)
    address = plain(one.address)
    return plain(one.tenant), address, breaker, failures, since, probe, mark_of(one.receiver)


def _as_json(one: Unwell) -> dict[str, Any]:
    from taskgate.gateway.announcing import rfc3339  # noqa: PLC0415
    from taskgate.receivers import mark_of  # noqa: PLC0415

    health = one.health
    opened = health.opened_at
    return {
        "tenant": one.tenant,
        "receiver": one.address,
        "breaker": health.breaker,
        "failures": health.failures,
        "since": rfc3339(opened) if opened else None,
        "next_probe_at": rfc3339(health.next_probe_at) if opened else None,
        "mark": mark_of(one.receiver),
    }
