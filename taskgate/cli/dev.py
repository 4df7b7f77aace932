"""`taskgate dev`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.local import Gateway, local_gateway, running_note
from taskgate.cli.options import AsJson
from taskgate.cli.printing import aside, print_json, say

LOOK_EVERY: Final = 2.0


def dev(
    persist: Annotated[
        bool, typer.Option("--persist", help="Keep tasks and results for the next time.")
    ] = False,
    otlp: Annotated[
        str | None,
        typer.Option("--otlp", metavar="URL", help="Send spans to this OTLP/HTTP collector."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a whole gateway on this machine; Ctrl-C ends all of it."""
    if running := running_note():
        raise CommandError(
            f"A local gateway is up already at {running.url}",
            "Use it, or end it first with Ctrl-C in its terminal.",
            Exit.USAGE,
        )
    began = time.monotonic()
    with _until_interrupted(), local_gateway(persist=persist, say=aside, otlp=otlp) as gateway:
        path = gateway.note.write(Path.cwd())
        try:
            _welcome(gateway, time.monotonic() - began, as_json=as_json)
            _keep(gateway)
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM are how this command ends: no error, once all is stopped."""
    try:
        yield
    except KeyboardInterrupt:
        aside("Stopped.")


def _keep(gateway: Gateway) -> None:
    while True:
        time.sleep(LOOK_EVERY)
        gateway.revive_workers(aside)


def _welcome(gateway: Gateway, seconds: float, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(gateway.note) | {"logs": str(gateway.stack.folder)})
    else:
        say(_how_to_go_on(gateway, seconds))


def _how_to_go_on(gateway: Gateway, seconds: float) -> str:
    note, taskgate = gateway.note, _command()
    lines = (
        f"Up in {seconds:.1f} s. Ctrl-C ends all of it.",
        "",
        f"  API       {note.url}",
        f"  API docs  {note.url}/docs",
        f"  API key   {note.api_key}",
        f"  AWS       {note.endpoint}",
        f"  logs      {gateway.stack.folder}",
        "",
        "In another terminal, in this folder:",
        "",
        f"  {taskgate} submit embed_document --file examples/handbook.pdf --wait",
        f'  {taskgate} submit text_to_image -i "prompt=a red lighthouse" -i step_ms=300 --wait',
        f"  {taskgate} list",
        f"  {taskgate} listen                 # receives callbacks: submit … --callback-url URL",
        f"  {taskgate} webhook-secret         # what signs them",
    )
    return "\n".join(lines)


def _command() -> str:
    """How this command is called from here: `make dev` does not put it on the path."""
    if shutil.which("taskgate"):
        return "taskgate"
    return min(sys.argv[0], os.path.relpath(sys.argv[0]), key=len)
