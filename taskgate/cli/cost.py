"""`taskgate cost`: what a month would cost, and what was counted for it. Asks nobody."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, out, print_json, table
from taskgate.cost.bill import Bill, bill, instances
from taskgate.cost.wish import Wish
from taskgate.errors import BadSetting

Gpu = Annotated[str | None, typer.Option(help=f"Its hours too: {', '.join(instances())}.")]


def cost(
    *,
    tasks: Annotated[float, typer.Option(help="Tasks a month.")] = 1e6,
    polls: Annotated[float, typer.Option(help="Status requests a task.")] = 3,
    result_mb: Annotated[float, typer.Option(help="Size of a result.")] = 1,
    run_seconds: Annotated[float, typer.Option(help="Length of a run.")] = 10,
    downloads: Annotated[float, typer.Option(help="Downloads a result, over the internet.")] = 1,
    callers: Annotated[int, typer.Option(help="API keys in use at any time.")] = 10,
    workers: Annotated[int, typer.Option(help="Worker processes that are up all month.")] = 2,
    lanes: Annotated[int, typer.Option(help="Lanes: pools × 3 priorities.")] = 6,
    gpu: Gpu = None,
    busy: Annotated[float, typer.Option(help="Share of an instance's time that runs tasks.")] = 0.6,
    event_bus: Annotated[bool, typer.Option("--event-bus", help="Tell an event bus.")] = False,
    nats: Annotated[int, typer.Option(help="NAT gateways.")] = 0,
    endpoints: Annotated[int, typer.Option(help="Interface endpoints × zones.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print a month's bill by service, with the counts behind it."""
    try:
        wish = Wish(
            tasks=tasks,
            polls=polls,
            result_mb=result_mb,
            run_seconds=run_seconds,
            downloads=downloads,
            callers=callers,
            workers=workers,
            lanes=lanes,
            gpu=gpu,
            busy=busy,
            event_bus=event_bus,
            nats=nats,
            endpoints=endpoints,
        )
        found = bill(wish)
    except BadSetting as error:
        raise typer.BadParameter(str(error)) from error
    print_json(_as_json(found)) if as_json else _show(found, tasks)


def _show(found: Bill, tasks: float) -> None:
    shown = table("service", "counted", "", "dollars", "how")
    for line in found.lines:
        count = line.count
        thing = count.price.partition(".")[2].replace("_", " ")
        shown.add_row(
            count.service,
            _amount(count.amount),
            thing,
            f"{line.dollars:,.2f}",
            Text(count.how, "dim"),
        )
    console = out()
    console.print(shown)
    parts = (f"{name} {dollars:,.2f}" for name, dollars in found.by_service.items())
    console.print("\nBy service: " + " · ".join(parts))
    each = f"{found.total / tasks * 1e6:,.2f} a million tasks"
    console.print(f"A month: ${found.total:,.2f}, {each} ({found.region}, prices of {found.as_of})")
    aside("Calls, units and log lines are measured; durations and the rest are options or notes.")


def _amount(amount: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return f"{amount / size:,.2f} {letter}"
    return f"{amount:,.2f}".removesuffix(".00")


def _as_json(found: Bill) -> dict[str, object]:
    return {
        "region": found.region,
        "as_of": found.as_of,
        "total": round(found.total, 2),
        "services": {name: round(dollars, 2) for name, dollars in found.by_service.items()},
        "lines": [
            {
                "service": line.count.service,
                "counted": line.count.price,
                "amount": line.count.amount,
                "dollars": round(line.dollars, 4),
                "how": line.count.how,
            }
            for line in found.lines
        ],
    }
