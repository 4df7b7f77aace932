"""A real worker process over real AWS ports, with the tests' own runners in its catalog.

``python emulated_worker.py JSON``: the deployment's variables come from the environment as on AWS;
JSON may say ``drain``, and ``die_at``: the step at which it is killed as by ``kill -9``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from worker_world import chaos_type

from gpu_worker.__main__ import worker_id
from gpu_worker.logs import log_to_stdout
from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import Stop
from gpu_worker.supervisor import Supervisor, Workplace
from taskgate.aws.ports import build
from taskgate.catalog import Catalog
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.ports import Ports
from taskgate.settings import Environment

TYPES = Catalog((chaos_type("steady", "Chaos", retries=2, crashes=10, pool="cpu"),))
STEPS = ("receive", "claim", "beat", "put", "succeed", "before delete")


def main(wanted: dict[str, Any]) -> int:
    worker = worker_id()
    log_to_stdout(worker)
    environment = Environment.read(os.environ)
    ports = deadly(build(environment), wanted.get("die_at", ""))
    scratch = Path(wanted.get("scratch", tempfile.gettempdir()))
    settings = WorkerSettings(pool="cpu", drain=wanted.get("drain", 5), scratch=scratch)
    stop = Stop(settings.drain)
    place = Workplace(
        ports=ports,
        gateway=WorkerGateway(ports, TYPES, environment, worker),
        catalog=TYPES,
        environment=environment,
        settings=settings,
        stop=stop,
    )
    supervisor = Supervisor(place)
    stop.listen()
    return supervisor.serve()


def deadly(ports: Ports, step: str) -> Ports:
    """Ports that kill this process at the step, with whatever it had done by then."""
    match step:
        case "receive":
            return replace(ports, lanes=Dying(ports.lanes, "receive", bool))
        case "claim" | "succeed":
            return replace(ports, tasks=Dying(ports.tasks, "apply", lambda t: t.state in {
                "claim": {"processing"}, "succeed": {"succeeded"}}[step]))  # fmt: skip
        case "beat":
            return replace(ports, pulses=Dying(ports.pulses, "beat", bool))
        case "put":
            return replace(ports, results=Dying(ports.results, "put", lambda _: True))
        case "before delete":
            return replace(ports, lanes=Dying(ports.lanes, "delete", bool, before=True))
    return ports


class Dying:
    """A port one of whose verbs ends the process."""

    def __init__(
        self, port: Any, verb: str, fatal: Callable[[Any], bool], *, before: bool = False
    ) -> None:
        self._port, self._verb, self._fatal, self._before = port, verb, fatal, before

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._port, name)
        return self._last(real) if name == self._verb else real

    def _last(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            if self._before:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = real(*args, **more)
            if self._fatal(answer):
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
