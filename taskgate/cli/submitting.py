"""`taskgate submit`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from taskgate.cli.inputs import Labels, read_input, read_labels, read_then
from taskgate.cli.options import AsJson, Timeout, client_of
from taskgate.cli.printing import aside, print_json, say
from taskgate.cli.spans import At, In, LifeLimit, QueueLimit, RunLimit
from taskgate.cli.watching import follow
from taskgate.client import TaskHandle

Pairs = Annotated[
    list[str] | None,
    typer.Option("-i", metavar="KEY=VALUE", help="A field; JSON if it is, @FILE reads it."),
]
WholeInput = Annotated[
    str | None, typer.Option("--input", metavar="JSON|@FILE", help="The whole input.")
]
Files = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        metavar="PATH|FIELD=PATH",
        help="A document (PDF, Markdown, text); or a file to upload for a field.",
    ),
]
ExpectedSeconds = Annotated[int | None, typer.Option(min=1, help="How long you expect it to run.")]
CallbackUrl = Annotated[str | None, typer.Option(metavar="URL", help="Post its end there.")]
CallbackEvents = Annotated[
    str | None,
    typer.Option(metavar="EVENTS", help="What to tell of, with commas: task.failed,task.canceled."),
]
Then = Annotated[
    str | None, typer.Option(metavar="JSON|@FILE", help="What follows: [{type, input, then}, …].")
]
IdempotencyKey = Annotated[str | None, typer.Option(help="The same key gives the same task.")]


Reuse = Annotated[
    bool, typer.Option("--reuse/--no-reuse", help="Take a kept result of the same input.")
]


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


def submit(
    context: typer.Context,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="See `taskgate types`.")],
    *,
    pairs: Pairs = None,
    whole: WholeInput = None,
    files: Files = None,
    priority: Annotated[Priority, typer.Option(help="Which lane.")] = Priority.NORMAL,
    labels: Labels = None,
    at: At = None,
    after: In = None,
    expected_seconds: ExpectedSeconds = None,
    queue_timeout: QueueLimit = None,
    run_timeout: RunLimit = None,
    deadline: LifeLimit = None,
    callback_url: CallbackUrl = None,
    callback_events: CallbackEvents = None,
    then: Then = None,
    idempotency_key: IdempotencyKey = None,
    reuse: Reuse = True,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Hand a task in; its id is printed before anything else happens."""
    client = client_of(context)
    handle = client.submit(
        type_,
        read_input(pairs or (), whole, files or (), client.upload),
        priority=priority.value,
        metadata=read_labels(labels or ()),
        **_start(at, after),
        expected_seconds=expected_seconds,
        timeouts=_limits(queue_timeout, run_timeout, deadline),
        **_callback(callback_url, callback_events),
        then=read_then(then),
        idempotency_key=idempotency_key,
        reuse=reuse,
    )
    _announce(handle, as_json=as_json, waiting=wait)
    if wait:
        follow(client, handle.id, timeout=timeout, as_json=as_json, whole=as_json)


def _start(at: str | None, after: int | None) -> dict[str, Any]:
    if at is not None and after is not None:
        raise typer.BadParameter("give --at or --in, not both")
    return {"run_at": at, "delay": after}


def _callback(url: str | None, events: str | None) -> dict[str, Any]:
    return {"callback_url": url, "callback_events": events.split(",") if events else None}


def _limits(queue: int | None, run: int | None, deadline: int | None) -> dict[str, int]:
    named = {"queue_seconds": queue, "run_seconds": run, "deadline_seconds": deadline}
    return {name: seconds for name, seconds in named.items() if seconds is not None}


def _announce(handle: TaskHandle, *, as_json: bool, waiting: bool) -> None:
    """The id first: whoever is interrupted while waiting must not have lost it."""
    if as_json and waiting:
        aside(handle.id)
    elif as_json:
        print_json(dict(handle.submitted.raw))
    else:
        note = "  the key was used before: this is the task of then" if handle.replayed else ""
        if handle.submitted.reused_from:
            note = f"  ended at once, with the result of {handle.submitted.reused_from}"
        say((handle.id, "bold"), (note, "dim"))
        if not waiting:
            aside(f"taskgate watch {handle.id}")
