"""A queue service that swallows everything is survived by waiting: no human, no lost task."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from black_hole import BlackHole
from emulated_worker import TYPES
from emulated_world import BEAT, LEASE, EmulatedWorld
from worker_world import PATIENCE, Events, until

from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import Stop
from gpu_worker.supervisor import Supervisor, Workplace
from taskgate.aws import clients
from taskgate.aws.lanes import SqsLanes
from taskgate.aws.ports import build
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.local.emulator import Emulator
from taskgate.testing import aws_resources

SWALLOWED = 4.0


@pytest.fixture
def events() -> Iterator[Events]:
    made = Events()
    yield made
    made.close()


def test_consumption_goes_on_by_itself_after_the_queue_service_swallowed_all_traffic(
    emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: Events
) -> None:
    monkeypatch.setattr(clients, "READ_SECONDS", 1)
    monkeypatch.setattr(clients, "LONG_POLL_SECONDS", 1)
    monkeypatch.setattr(clients, "ATTEMPTS", 1)
    environment = aws_resources.create("hole", lease=LEASE, beat=BEAT)
    ports = build(environment)
    with BlackHole(urlsplit(emulator.endpoint_url).port or 0) as hole:
        behind = f"http://127.0.0.1:{hole.port}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", behind)
        urls = {
            lane: url.replace(urlsplit(url).netloc, urlsplit(behind).netloc)
            for lane, url in environment.lanes.items()
        }
        swallowing = clients.sqs()
        worker = replace(ports, lanes=SqsLanes(swallowing, urls))
        settings = WorkerSettings(pool="cpu", scratch=tmp_path, preload=False, silent_limit=60)
        stop = Stop(0)
        supervisor = Supervisor(
            Workplace(
                ports=worker,
                gateway=WorkerGateway(worker, TYPES, environment, "w1"),
                catalog=TYPES,
                environment=environment,
                settings=settings,
                stop=stop,
            )
        )
        thread = threading.Thread(target=supervisor.serve)
        thread.start()
        world = EmulatedWorld(ports, environment, tmp_path)
        running = world.submit("echo", seconds=2.0)
        until(lambda: bool(events.named("claimed")))
        hole.open = True
        waiting = world.submit("echo")
        assert world.wait_ended(running).state is State.SUCCEEDED
        time.sleep(SWALLOWED)
        assert world.task(waiting).state is not State.SUCCEEDED
        assert events.named("poll_failed")
        hole.open = False
        task = world.wait_ended(waiting)
        assert (task.state, task.attempt) == (State.SUCCEEDED, 1)
        assert world.task(running).attempt == 1
        stop.ask("the test is over")
        thread.join(PATIENCE)
        assert not thread.is_alive()
        swallowing.close()
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]
