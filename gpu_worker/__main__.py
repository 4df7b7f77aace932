"""``python -m gpu_worker``: one worker process. See docs/explanation/worker.md."""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import socket
import sys
from typing import Final

from gpu_worker.fitness import GpuMemory, gpu_is_there
from gpu_worker.health import Health
from gpu_worker.logs import log_to_stdout
from gpu_worker.protection import Protection
from gpu_worker.settings import WorkerSettings
from gpu_worker.spot import SpotWatch
from gpu_worker.stop import Stop
from gpu_worker.supervisor import Supervisor, Workplace
from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.errors import BadSetting
from taskgate.events import measure
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.settings import Environment
from taskgate.spans import open_spans

EXIT_BAD_SETTING: Final = 2
_PR_SET_DUMPABLE: Final = 4


def main() -> int:
    """Serve until SIGTERM; 0 then, 2 for a bad setting, 3 when unfit, 4 when it had to force."""
    worker = worker_id()
    log_to_stdout(worker)
    keep_memory_private()
    try:
        place = _workplace(worker)
        supervisor = Supervisor(place)
    except BadSetting as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_BAD_SETTING
    place.stop.listen()
    if place.settings.spot:
        SpotWatch(place.stop.leave, place.settings.metadata).start()
    return supervisor.serve()


def keep_memory_private() -> None:
    """Of this user's other processes, which are what models run in, none may read our environment or
    memory: the credentials that a child is not given stand there (Linux).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0)


def worker_id() -> str:
    """Host, process and chance, in at most 20 characters: it stands on every task it holds."""
    host = re.sub(r"[^a-z0-9]", "", socket.gethostname().lower())[-8:] or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(2)}"[:20]


def _workplace(worker: str) -> Workplace:
    environment = Environment.read(os.environ)
    measure(environment.labels)
    settings, ports = WorkerSettings.read(os.environ), build(environment)
    return Workplace(
        ports=ports,
        gateway=WorkerGateway(ports, CATALOG, environment, worker),
        catalog=CATALOG,
        environment=environment,
        settings=settings,
        stop=Stop(settings.drain),
        protection=Protection(settings.agent),
        spans=open_spans(environment, "worker"),
        health=Health(settings.health),
        checks=(gpu_is_there,) if settings.require_gpu else (),
        empty_checks=(GpuMemory(),) if settings.require_gpu else (),
    )


if __name__ == "__main__":
    sys.exit(main())
