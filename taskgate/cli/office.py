"""The operator's way in: the records themselves, by AWS credentials and not by an API key.

What operators repair is what the API stands on, over all tenants; so it must not be needed for it.
Which deployment is meant is read from its data stack. AWS is imported when it is asked for.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from taskgate.cli.connection import find_note
from taskgate.cli.exits import CommandError, Exit

if TYPE_CHECKING:
    from taskgate.errors import Problem
    from taskgate.ports import Ports
    from taskgate.principal import Principal
    from taskgate.settings import Environment

StageName = Annotated[
    str | None, typer.Option("--stage", help="The deployment: dev, staging or prod.")
]
Local = Annotated[bool, typer.Option("--local", help="The gateway that `taskgate dev` runs.")]
START_ONE: Final = "Start one: make dev (or taskgate dev)."
Apply = Annotated[bool, typer.Option("--apply", help="Do it; without this it is only shown.")]


@dataclass(frozen=True, slots=True)
class Office:
    """One deployment, seen by an operator."""

    environment: Environment
    ports: Ports
    who: Principal
    deployment: str
    """The option that names it, for the next command that somebody is told of."""


def open_office(stage: str | None, *, local: bool) -> Office:
    """The office of the named deployment; a wrong name or missing credentials say so."""
    try:
        from taskgate.aws.ports import build  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(
            f"This needs {error.name}, which is not installed.",
            "Install taskgate[aws], or work in a checkout.",
            Exit.USAGE,
        ) from error
    if local == (stage is not None):
        raise typer.BadParameter("name one deployment: --stage NAME or --local")
    if local:
        _point_at_local()
    with at_work():
        environment = _environment(stage or "local")
        named = "--local" if local else f"--stage {stage}"
        return Office(environment, build(environment), _operator(), named)


@contextmanager
def at_work() -> Iterator[None]:
    """What AWS refuses or cannot answer is said in two lines, as any other error of a command."""
    import botocore.exceptions  # noqa: PLC0415

    from taskgate.errors import Problem, Unavailable  # noqa: PLC0415

    try:
        yield
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise _no_way_in(error) from error
    except Problem as error:
        # The fields' own words, where there are any: the problem's speak of a request over HTTP.
        named = "; ".join(f"{f.field}: {f.message}" for f in error.fields)
        raise CommandError(
            named or str(error), "Correct the command; nothing was changed.", _exit_of(error)
        ) from error
    except Unavailable as error:
        raise CommandError(
            f"AWS could not answer just now: {error}", "Try again in a minute.", Exit.UNREACHABLE
        ) from error


def _exit_of(error: Problem) -> Exit:
    """As the same problem's over HTTP, so that a script need not know which way a command goes."""
    return Exit.NOT_FOUND if error.status == HTTPStatus.NOT_FOUND else Exit.USAGE


def _environment(stage_name: str) -> Environment:
    from taskgate.errors import BadSetting  # noqa: PLC0415
    from taskgate.settings import Environment  # noqa: PLC0415

    try:
        told = output(stage_name, "data", "Environment")
    except BadSetting as error:
        raise typer.BadParameter(str(error)) from error
    return Environment.read(json.loads(told))


def output(stage_name: str, stack: str, key: str) -> str:
    """What a stack of the stage answered: its output of that name."""
    import boto3  # noqa: PLC0415

    from taskgate.settings import stage  # noqa: PLC0415

    name = f"{stage(stage_name).prefix}-{stack}"
    client: Any = boto3.client("cloudformation")
    try:
        (found,) = client.describe_stacks(StackName=name)["Stacks"]
    finally:
        client.close()
    return next(str(o["OutputValue"]) for o in found["Outputs"] if o["OutputKey"] == key)


def _point_at_local() -> None:
    """This process speaks to the local stack's AWS and to no other."""
    note = find_note(Path.cwd())
    if note is None:
        raise CommandError("No local gateway is running in this folder.", START_ONE, Exit.USAGE)
    if not _listens(note.endpoint):
        raise CommandError(
            f"The local gateway of this folder, {note.endpoint}, is gone.",
            START_ONE,
            Exit.UNREACHABLE,
        )
    os.environ.update(
        AWS_ENDPOINT_URL=note.endpoint,
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - known to all, it guards nothing
        AWS_DEFAULT_REGION="us-east-1",
        AWS_REGION="us-east-1",
    )
    os.environ.pop("AWS_PROFILE", None)
    os.environ.pop("AWS_SESSION_TOKEN", None)


def _listens(endpoint: str) -> bool:
    """Whether something is there: a `dev` that was killed has left its note behind."""
    address = urlsplit(endpoint)
    try:
        socket.create_connection((address.hostname or "", address.port or 80), timeout=5).close()
    except OSError:
        return False
    return True


def _operator() -> Principal:
    from taskgate.principal import SCOPES, Principal  # noqa: PLC0415
    from taskgate.task import Owner  # noqa: PLC0415

    name = re.sub(r"[^A-Za-z0-9_.@-]", "-", getpass.getuser())[:64] or "operator"
    return Principal(Owner("taskgate", name), SCOPES, 1, "aws")


def _no_way_in(error: Exception) -> CommandError:
    return CommandError(
        f"AWS did not let us in: {error}",
        "Check the credentials, the region and that the stage is deployed.",
        Exit.UNREACHABLE,
    )
