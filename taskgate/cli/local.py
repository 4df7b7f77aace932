"""A gateway on this machine for `dev` and `demo`: the local stack, workers, and a key of its own.

The stack's room is imported when it is asked for: the other commands need neither AWS nor CDK.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import typer

from taskgate.cli.connection import LocalNote, find_note
from taskgate.cli.exits import CommandError, Exit
from taskgate.errors import BadSetting

if TYPE_CHECKING:
    from taskgate.local import LocalStack
    from taskgate.local.process import Child

TENANT: Final = "local"
USER: Final = "demo"
KEPT: Final = Path(".taskgate") / "stack"
"""Where `--persist` keeps tasks over restarts."""


@dataclass(slots=True)
class Gateway:
    """A running local gateway; `workers` by pool."""

    note: LocalNote
    stack: LocalStack
    workers: dict[str, Child]

    def revive_workers(self, say: Callable[[str], None]) -> None:
        """Start a worker anew that has ended, as ECS would."""
        for pool, worker in self.workers.items():
            if worker.exit_code is not None:
                say(f"The {pool} worker ended with {worker.exit_code}; starting another")
                self.workers[pool] = self.stack.start_worker(pool)


@contextmanager
def local_gateway(
    *, persist: bool, say: Callable[[str], None], otlp: str | None = None
) -> Iterator[Gateway]:
    """Bring it up, with one worker a pool; all of it ends with the block."""
    # Started by a script with `&`, or stopped by another program: it ends in order all the same.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    with _stack(persist=persist, say=say, otlp=otlp) as stack:
        note = LocalNote(stack.api_url, _issue_key(stack), stack.endpoint_url)
        yield Gateway(note, stack, {pool: stack.start_worker(pool) for pool in _pools()})


def running_note() -> LocalNote | None:
    """The note of a local gateway that answers; None when there is none."""
    note = find_note(Path.cwd())
    return note if note and _answers(note.url) else None


@contextmanager
def _stack(*, persist: bool, say: Callable[[str], None], otlp: str | None) -> Iterator[LocalStack]:
    local, failures = _room()
    folder = Path.cwd() / KEPT if persist else None
    try:
        stack = local(folder=folder, persist=persist, say=say, otlp=otlp)
    except BadSetting as error:
        raise typer.BadParameter(str(error)) from error
    try:
        stack.start()
    except failures as error:
        raise CommandError(
            f"The local stack did not start: {error}",
            "`make clean` and a second try often help; the log above says more.",
            Exit.UNREACHABLE,
        ) from error
    try:
        yield stack
    finally:
        say("Stopping workers and emulator")
        stack.stop()


def _room() -> tuple[type[LocalStack], tuple[type[Exception], ...]]:
    try:
        from taskgate.local import LocalStack, LocalStackError  # noqa: PLC0415
        from taskgate.local.cdk import CdkError  # noqa: PLC0415
        from taskgate.local.emulator import EmulatorError  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(
            f"The local stack needs {error.name}, which is not installed.",
            "Work in a checkout and run `make dev`, which installs all of it.",
            Exit.USAGE,
        ) from error
    return LocalStack, (LocalStackError, CdkError, EmulatorError, subprocess.CalledProcessError)


def _issue_key(stack: LocalStack) -> str:
    from taskgate.apikeys import issue  # noqa: PLC0415
    from taskgate.aws.keys import DynamoKeys  # noqa: PLC0415
    from taskgate.principal import SCOPES  # noqa: PLC0415
    from taskgate.task import Owner  # noqa: PLC0415

    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    return issue(keys, Owner(TENANT, USER), SCOPES, plan="operator")


def _pools() -> tuple[str, ...]:
    from taskgate.catalog import CATALOG  # noqa: PLC0415

    return CATALOG.pools


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
