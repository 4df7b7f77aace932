"""The whole local stack as one context manager."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from taskgate.local.deploy import deploy
from taskgate.local.emulator import Emulator
from taskgate.local.process import Child
from taskgate.local.workers import start_worker
from taskgate.settings import Environment, stage


class LocalStackError(Exception):
    """The local stack was asked for something before it was up."""


class LocalStack:
    """An emulator with the stacks deployed. Any number of them can be up at once.

    All files (logs, state, unpacked functions) lie in `folder`. Without one it is a temporary
    folder that goes with the stack; with `persist` the folder keeps tasks over restarts.
    """

    def __init__(self, *, folder: Path | None = None, persist: bool = False) -> None:
        self._temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="taskgate-"))
        self._persist = persist
        self._stage = stage("local")
        self._emulator: Emulator | None = None
        self._workers: list[Child] = []
        self.api_url = ""
        """Base URL of the HTTP API, without a slash at the end."""

    def start(self) -> Self:
        """Start the emulator and deploy; on failure nothing is left running."""
        try:
            self._emulator = Emulator(self.folder, persist=self._persist)
            deployed = deploy(self._stage, self._emulator, self.folder)
        except BaseException:
            self.stop()
            raise
        self.api_url, self._environment = deployed.api_url, deployed.environment
        return self

    @property
    def environment(self) -> Environment:
        """What the stacks tell functions and workers: table, bucket and lane names."""
        if not self.api_url:
            raise LocalStackError("The stack is not up.")
        return self._environment

    @property
    def endpoint_url(self) -> str:
        """Where AWS clients of this stack go."""
        return self._up.endpoint_url

    @property
    def client_variables(self) -> Mapping[str, str]:
        """Environment variables that point any AWS client at this stack."""
        return self._up.client_variables

    def start_worker(self, pool: str, extra: Mapping[str, str] | None = None) -> Child:
        """Start one worker process; it ends with the stack at the latest."""
        worker = start_worker(
            pool,
            environment=self.environment,
            client_variables=self.client_variables,
            log=self.folder / f"worker-{pool}-{len(self._workers)}.log",
            extra=extra,
        )
        self._workers.append(worker)
        return worker

    def stop(self) -> None:
        """Stop workers, then the emulator that they report to; safe to call twice."""
        while self._workers:
            self._workers.pop().stop()
        if self._emulator:
            self._emulator.stop()
            self._emulator = None
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

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
    def _up(self) -> Emulator:
        if self._emulator is None:
            raise LocalStackError("The stack is not up.")
        return self._emulator
