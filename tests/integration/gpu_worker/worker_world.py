"""A whole worker in this process over ports in memory; only its child is a process of its own."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from gpu_worker.health import Health
from gpu_worker.lanes import lane_names
from gpu_worker.protection import Protection
from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import Stop
from gpu_worker.supervisor import Supervisor, Workplace
from taskgate.catalog import Catalog, TaskType
from taskgate.catalog.embed_document import EmbedDocumentInput
from taskgate.catalog.tasktype import TaskInput
from taskgate.catalog.text_to_image import TextToImageInput
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.gateway.steer.steering import cancel
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.lifecycle.retry import RetryPolicy
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.spans import NOBODY
from taskgate.task import CancelMode, Owner, Task
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory import MemoryWorld

WHO = Principal(Owner("acme", "ada"), SCOPES, 1000, "key")


class RealClock(VirtualClock):
    """Real child processes live in real time."""

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000


class ChaosInput(TaskInput):
    act: str
    seconds: float = 0.0
    text: str = ""


def chaos_type(
    name: str, runner: str, retries: int = 1, crashes: int = 1, **limits: Any
) -> TaskType:
    return TaskType(
        name=name,
        title=name,
        input_model=ChaosInput,
        runner=f"worker_chaos:{runner}",
        pool=limits.pop("pool", "chaos"),
        retry=RetryPolicy(retries=retries, crashes=crashes, base=0.01, cap=0.01),
        **limits,
    )


PATIENCE = 120.0
"""Seconds for what must come: so many that a busy machine is never taken for a broken promise."""

CHAOS = Catalog(
    (
        chaos_type("chaos", "Chaos", startup_timeout=120),
        chaos_type("brief", "Chaos", run_timeout=3),
        chaos_type("capped", "Chaos", run_timeout=3, max_run=4),
        chaos_type("endless", "EndlessSetup", startup_timeout=1),
        chaos_type("broken", "BrokenSetup"),
        chaos_type("broken_once", "BrokenSetup", retries=0),
        TaskType(
            name="embed_document",
            title="embed",
            input_model=EmbedDocumentInput,
            runner="gpu_worker.runners.embed_document:EmbedDocument",
            pool="chaos",
        ),
        TaskType(
            name="text_to_image",
            title="draw",
            input_model=TextToImageInput,
            runner="gpu_worker.runners.text_to_image:TextToImage",
            pool="chaos",
        ),
        chaos_type("hopeless", "BrokenSetup", pool="hopeless"),
        chaos_type("never_ready", "EndlessSetup", pool="never", startup_timeout=1),
    )
)


POOLS = ("chaos", "hopeless", "never")


def environment(**times: Any) -> Environment:
    given = {"beat": 1, "lease": 3, "send_check": 30, "stall_grace": 5, "cancel_grace": 60} | times
    return Environment(
        stage="test",
        tasks_table="tasks",
        ephemeral_table="ephemeral",
        results_bucket="results",
        lanes={n: f"memory://{n}" for pool in POOLS for n in lane_names(pool)},
        clock_shards=4,
        **given,
    )


class WorkerWorld:
    """Submit, start a worker in a thread, wait for states."""

    def __init__(self, tmp_path: Path, catalog: Catalog = CHAOS, **times: Any) -> None:
        self.catalog = catalog
        self.environment = environment(**times)
        self.memory = MemoryWorld(clock=RealClock(), visibility=self.environment.lease)
        self.tmp_path = tmp_path
        self.events = Events()
        self._stops: list[tuple[Stop, threading.Thread]] = []
        self.exit_codes: list[int] = []

    def submit(
        self, act: str, *, kind: str = "chaos", priority: str = "normal", **more: Any
    ) -> str:
        return self.submit_input(kind, {"act": act, **more}, priority)

    def submit_input(self, kind: str, given: dict[str, Any], priority: str = "normal") -> str:
        request = SubmitRequest(type=kind, input=given, priority=priority)
        return submit(self.memory.ports, self.catalog, self.environment, WHO, request).task.id

    def cancel(self, task_id: str, mode: Literal["soft", "hard"]) -> Task:
        return cancel(self.memory.ports, WHO, task_id, CancelMode(mode))

    def place(self, **settings: Any) -> Workplace:
        # Real queues wait in whole seconds; these can wait less, which makes the tests fast.
        given = {"pool": "chaos", "drain": 10, "preload": False, "kill_grace": 1, "watch": 0.2}
        given |= settings
        checks, protection = given.pop("checks", ()), given.pop("protection", Protection())
        spans = given.pop("spans", NOBODY)
        made = WorkerSettings(scratch=self.tmp_path, **given)
        ports = self.memory.ports
        return Workplace(
            ports=ports,
            gateway=WorkerGateway(ports, self.catalog, self.environment, "test-worker"),
            catalog=self.catalog,
            environment=self.environment,
            settings=made,
            stop=Stop(made.drain),
            protection=protection,
            checks=checks,
            spans=spans,
            health=Health(made.health),
        )

    def start(self, **settings: Any) -> Stop:
        place = self.place(**settings)
        supervisor = Supervisor(place)
        thread = threading.Thread(target=lambda: self.exit_codes.append(supervisor.serve()))
        thread.start()
        self._stops.append((place.stop, thread))
        return place.stop

    def join(self, seconds: float = PATIENCE) -> None:
        for _, thread in self._stops:
            thread.join(seconds)
            assert not thread.is_alive(), "the worker did not leave"

    def task(self, task_id: str) -> Task:
        return self.memory.tasks.tasks[task_id]

    def wait_for(self, task_id: str, *states: State, seconds: float = PATIENCE) -> Task:
        until(lambda: self.task(task_id).state in states, seconds, lambda: str(self.task(task_id)))
        return self.task(task_id)

    def wait_ended(self, task_id: str, seconds: float = PATIENCE) -> Task:
        until(lambda: self.task(task_id).state.ended, seconds, lambda: str(self.task(task_id)))
        return self.task(task_id)

    def wait_stage(self, task_id: str, stage: str, seconds: float = PATIENCE) -> None:
        def there() -> bool:
            pulse = self.memory.pulses.get(task_id)
            return pulse is not None and pulse.stage == stage

        until(there, seconds, lambda: f"never in stage {stage}")

    def result(self, task_id: str, name: str) -> bytes:
        file = next(f for f in self.task(task_id).result if f.name == name)
        return self.memory.results.objects[file.key]

    def output(self, task_id: str) -> dict[str, Any]:
        return json.loads(self.task(task_id).output or "null")

    def close(self) -> None:
        for stop, thread in self._stops:
            if thread.is_alive():
                stop.ask("the test is over")
                stop.ask("the test is over")
        self.join()
        self.events.close()
        left = [p.name for p in self.tmp_path.glob("taskgate-worker-*")]
        assert not left, f"files left behind: {left}"


class Events(logging.Handler):
    """What the worker logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.seen: list[dict[str, Any]] = []
        self._logger = logging.getLogger("taskgate")
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith("{"):
            self.seen.append(json.loads(text))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [e for e in self.seen if e["event"] == name]

    def close(self) -> None:
        self._logger.removeHandler(self)
        super().close()


def until(
    holds: Callable[[], bool], seconds: float = PATIENCE, told: Callable[[], str] = lambda: "never"
) -> None:
    """Wait until it holds, or fail."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, told()
        time.sleep(0.02)


def figure(text: str) -> None:
    """A measured figure, for whoever runs the tests with ``-rP`` or ``-s``."""
    sys.stdout.write(f"{text}\n")
