"""Worker processes over the emulator with a short lease: start, signal, wait, count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulated_worker import TYPES
from worker_world import PATIENCE, WHO, until

from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.ports import Ports
from taskgate.settings import Environment
from taskgate.task import Task

HOST = Path(__file__).parent / "emulated_worker.py"
LEASE, BEAT = 3, 1


class Worker:
    """One worker process and its log."""

    def __init__(self, folder: Path, variables: Mapping[str, str], wanted: dict[str, Any]) -> None:
        folder.mkdir()
        self.log = folder / "log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, HOST, json.dumps(wanted | {"scratch": str(folder)})],
                stdout=out,
                env={**os.environ, **variables, "PYTHONPATH": str(HOST.parent)},
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines(keepends=True)
        return [e for x in lines if x.endswith("\n") and (e := json.loads(x))["event"] == name]

    def wait_event(self, name: str, seconds: float = PATIENCE) -> dict[str, Any]:
        until(lambda: bool(self.events(name)), seconds, self.log.read_text)
        return self.events(name)[0]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)


class EmulatedWorld:
    """Tasks and workers of one test; every worker is gone afterwards."""

    def __init__(self, ports: Ports, environment: Environment, folder: Path) -> None:
        self.ports, self.environment, self._folder = ports, environment, folder
        self.workers: list[Worker] = []

    def start(self, **wanted: Any) -> Worker:
        folder = self._folder / f"worker-{len(self.workers)}"
        self.workers.append(Worker(folder, self.environment.as_variables(), wanted))
        return self.workers[-1]

    def submit(self, act: str, **more: Any) -> str:
        request = SubmitRequest(type="steady", input={"act": act, **more}, priority="high")
        return submit(self.ports, TYPES, self.environment, WHO, request).task.id

    def task(self, task_id: str) -> Task:
        task = self.ports.tasks.get(task_id)
        assert task is not None
        return task

    def wait_ended(self, task_id: str, seconds: float = PATIENCE) -> Task:
        def ended() -> bool:
            time.sleep(0.1)
            return self.task(task_id).state.ended

        until(ended, seconds, lambda: str(self.task(task_id)))
        return self.task(task_id)

    def claims(self) -> int:
        return sum(len(w.events("claimed")) for w in self.workers)

    def close(self) -> None:
        # Each takes its child with it, and its files lie in the test's own folder.
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.wait()
