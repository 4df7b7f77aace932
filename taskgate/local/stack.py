"""The whole local stack as one context manager."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from taskgate.edge import Edge
from taskgate.local.deploy import Deployed, deploy
from taskgate.local.emulator import Emulator
from taskgate.local.process import Child
from taskgate.local.workers import start_worker
from taskgate.scratch import Scratch
from taskgate.settings import Environment, stage

MARK: Final = "taskgate-stack-"
"""Begins the name of a stack's temporary folder."""


class LocalStackError(Exception):
    """The local stack is not up."""


def _say_nothing(_: str) -> None:
    return None


class LocalStack:
    """An emulator with the stacks deployed. Any number of them can be up at once.

    All files (logs, state, unpacked functions) lie in `folder`. Without one it is a temporary
    folder that goes with the stack; with `persist` the folder keeps tasks over restarts. With
    `event_bus` every transition is told to a bus of EventBridge, pages of `origins` may ask from a
    browser, and spans go to the collector at `otlp`, as a stage may say. `record` names a file for
    every call that is made under a role. `say` is told each step in a few words.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        persist: bool = False,
        record: Path | None = None,
        event_bus: bool = False,
        origins: tuple[str, ...] = (),
        otlp: str | None = None,
        say: Callable[[str], None] = _say_nothing,
    ) -> None:
        # First: a wrong setting leaves no folder behind.
        edge = Edge(origins=origins)
        self._stage = replace(stage("local"), event_bus=event_bus, edge=edge, otlp_endpoint=otlp)
        self._temporary: Scratch | None = None
        if folder is None:
            # Killed, it cannot remove its folder: the next one does.
            self._temporary = Scratch(Path(tempfile.gettempdir()), MARK)
            folder = self._temporary.base
        self.folder = folder
        self._persist = persist
        self._record = record
        self._say = say
        self._emulator: Emulator | None = None
        self._deployed: Deployed | None = None
        self._workers: list[Child] = []

    def start(self) -> Self:
        """Start the emulator and deploy; on failure nothing is left running."""
        try:
            self._say("Starting the AWS emulator")
            self._emulator = Emulator(self.folder, persist=self._persist, record=self._record)
            self._say("Deploying the stacks to it")
            self._deployed = deploy(self._stage, self._emulator, self.folder)
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def api_url(self) -> str:
        """Base URL of the HTTP API, without a slash at the end."""
        return self._up[1].api_url

    @property
    def environment(self) -> Environment:
        """What the stacks tell functions and workers: table, bucket and lane names."""
        return self._up[1].environment

    @property
    def endpoint_url(self) -> str:
        """Where AWS clients of this stack go."""
        return self._up[0].endpoint_url

    @property
    def emulator_pid(self) -> int:
        """The emulator's process id."""
        return self._up[0].pid

    @property
    def client_variables(self) -> Mapping[str, str]:
        """Environment variables that point any AWS client at this stack."""
        return self._up[0].client_variables

    def client(self, service: str) -> Any:
        """A boto3 client of one AWS service of this stack, with every right."""
        return self._up[0].client(service)

    def start_worker(self, pool: str, extra: Mapping[str, str] | None = None) -> Child:
        """Start one worker process, with extra variables if any; it ends with the stack."""
        self._say(f"Starting a worker of pool {pool}")
        worker = start_worker(
            pool,
            environment=self.environment,
            client_variables=self.client_variables,
            log=self.folder / f"worker-{pool}-{len(self._workers)}.log",
            extra=extra,
        )
        self._workers.append(worker)
        return worker

    def sweep(self) -> None:
        """Run the stale sweep now, rather than within its minute, and wait for its end."""
        self._invoke("stale-sweep")

    def settle(self) -> None:
        """Run the outbox's backstop now: an errand for each task that owes something and is due."""
        self._invoke("outbox-callback")

    def stop(self) -> None:
        """Stop workers, then the emulator that they report to; safe to call twice."""
        while self._workers:
            self._workers.pop().stop()
        if self._emulator:
            self._emulator.stop()
        self._emulator = self._deployed = None
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        if self._temporary:
            self._temporary.close()

    def _invoke(self, function: str) -> None:
        answer = self.client("lambda").invoke(FunctionName=f"{self._stage.prefix}-{function}")
        if "FunctionError" in answer:
            raise LocalStackError(f"{function} failed: {answer['Payload'].read()!r}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def _up(self) -> tuple[Emulator, Deployed]:
        if self._emulator is None or self._deployed is None:
            raise LocalStackError("The local stack is not up.")
        return self._emulator, self._deployed
