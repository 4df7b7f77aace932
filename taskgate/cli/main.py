"""The `taskgate` command."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from taskgate.cli import (
    after_restore,
    bulk,
    callbacks,
    cost,
    demo,
    dev,
    explaining,
    fleet,
    keys,
    listening,
    plans,
    put_back,
    reading,
    receivers,
    reconcile,
    redrive,
    smoke,
    steering,
    submitting,
    switches,
    uploading,
    watching,
)
from taskgate.cli.connection import connect
from taskgate.cli.exits import CommandError, Exit, code_of
from taskgate.cli.printing import print_error
from taskgate.client import ClientError

EXIT_CODES = (
    "Exit codes: 0 done · 1 the task ended without a result, or differences are left · 2 wrong usage · 3 no such task · "
    "4 refused by the gateway · 5 gateway out of reach · 6 wait timed out · 130 Ctrl-C"
)


class Commands(TyperGroup):
    """Turns what a command raises into two lines on stderr and a stable exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ClientError, CommandError) as error:
            print_error(error)
            raise typer.Exit(code_of(error)) from error
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Taskgate: long GPU tasks over HTTP; every accepted task is accounted for, and ends.",
    epilog=EXIT_CODES,
)


@app.callback()
def connected(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(help="The gateway; or TASKGATE_URL.")] = None,
    api_key: Annotated[str | None, typer.Option(help="The key; or TASKGATE_API_KEY.")] = None,
) -> None:
    """Settle which gateway the command speaks to."""
    context.obj = connect(url, api_key, os.environ)


app.command("submit")(submitting.submit)
app.command("upload")(uploading.upload)
app.command("get")(reading.get)
app.command("watch")(watching.watch)
app.command("result")(reading.result)
app.command("explain")(explaining.explain)
app.command("cancel")(steering.cancel)
app.command("reschedule")(steering.reschedule)
app.command("priority")(steering.priority)
app.command("extend")(steering.extend)
app.command("recover")(steering.recover)
app.command("fail")(steering.fail)
app.command("pause")(switches.pause)
app.command("resume")(switches.resume)
app.command("switches")(switches.switches)
app.command("retry")(steering.retry)
app.command("callback")(callbacks.callback)
app.command("redeliver")(callbacks.redeliver)
app.command("webhook-secret")(callbacks.webhook_secret)
app.command("listen")(listening.listen)
app.command("list")(reading.list_)
app.command("stats")(reading.stats)
app.command("queues")(explaining.queues)
app.command("workers")(fleet.workers)
app.command("types")(reading.types)
app.command("redrive")(redrive.redrive)
app.command("receivers")(receivers.receivers)
app.command("reconcile")(reconcile.reconcile)
app.command("put-back")(put_back.put_back)
app.command("after-restore")(after_restore.after_restore)
app.add_typer(keys.app, name="keys")
app.add_typer(plans.app, name="plans")
app.command("cost")(cost.cost)
app.add_typer(bulk.app, name="bulk")
app.command("smoke")(smoke.smoke)
app.command("dev")(dev.dev)
app.command("demo")(demo.demo)


def main() -> None:
    """Entry point."""
    app()
