"""`taskgate smoke`: a small set of promises, each kept or not, against a real deployment or a local one.

What only AWS itself can show is shown here. It leaves nothing behind: every task that it made ends,
and the key that it was given for this run is revoked.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from taskgate.cli.connection import find_note
from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.office import Local, StageName, at_work, open_office, output
from taskgate.cli.printing import aside, say
from taskgate.cli.smoke_promises import Broken, Smoke, promises
from taskgate.client import Taskgate

PENDING: Final = 3
"""Unfinished tasks that the key of a run may have, so that its limit can be met."""


def smoke(
    stage: StageName = None,
    local: Local = False,
    callback_url: Annotated[
        str | None,
        typer.Option(help="A receiver of yours; else the gateway's own address, which refuses."),
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="No worker is up: do not wait for a result.")
    ] = False,
) -> None:
    """Try the promises that matter, one line each; the first that is broken ends it with exit 1.

    With --stage or --local a key is issued for this run alone, by your AWS credentials. Without
    either, TASKGATE_URL and TASKGATE_API_KEY say whom to try.
    """
    with _gateway(stage, local=local) as (url, key, pending), Taskgate(url, key) as client:
        tried = Smoke(
            client=client,
            url=url,
            key=key,
            pending=pending,
            worker=not no_worker,
            callback_url=callback_url or f"{url}/healthz",
        )
        try:
            _try_all(tried)
        finally:
            tried.clean_up()
    say(("\nEvery promise was kept.", "bold green"))


def _try_all(tried: Smoke) -> None:
    for what, promise in promises(tried):
        try:
            promise()
        except Broken as broken:
            say(("  ✗ ", "bold red"), f"{what}: {broken}")
            raise CommandError(
                f"A promise was broken: {what}.",
                "Look at the alarms and the runbook; roll back if this came with a deploy.",
                Exit.ENDED_BADLY,
            ) from broken
        say(("  ✓ ", "green"), what)


@contextmanager
def _gateway(stage: str | None, *, local: bool) -> Iterator[tuple[str, str, int | None]]:
    """The address, a key, and how many unfinished tasks the key allows, if that is known."""
    if stage is None and not local:
        yield _named("TASKGATE_URL"), _named("TASKGATE_API_KEY"), None
        return
    office = open_office(stage, local=local)
    with at_work():
        note = find_note(Path.cwd()) if local else None
        url = note.url if note else output(stage or "local", "gateway", "ApiUrl").rstrip("/")
    with _key_for_this_run(office.environment.tasks_table) as key:
        yield url, key, PENDING


@contextmanager
def _key_for_this_run(table: str) -> Iterator[str]:
    from taskgate.apikeys import id_of, issue, revoke  # noqa: PLC0415
    from taskgate.aws import clients  # noqa: PLC0415
    from taskgate.aws.keys import DynamoKeys  # noqa: PLC0415
    from taskgate.marks import Acting  # noqa: PLC0415
    from taskgate.task import Owner  # noqa: PLC0415

    now = int(time.time())
    scopes = frozenset({"tasks:read", "tasks:write"})
    with at_work():
        keys = DynamoKeys(clients.dynamodb(), table=table)
        owner = Owner("smoke", f"run-{secrets.token_hex(4)}")
        key = issue(keys, owner, scopes, max_pending=PENDING, expires_at=now + 3600)
    try:
        yield key
    finally:
        with at_work():
            revoke(keys, id_of(key), Acting("smoke", now * 1000))
        aside("The key of this run is revoked")


def _named(variable: str) -> str:
    value = os.environ.get(variable, "").rstrip("/")
    if not value:
        raise typer.BadParameter(f"name a deployment: --stage NAME, --local, or set {variable}")
    return value
