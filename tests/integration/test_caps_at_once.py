"""A cap on the emulator, with workers that really meet: never one run too many, and all tasks end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.errors import Refused
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.gateway.work.claiming import Held
from taskgate.gateway.work.worker import WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.plans import OPERATOR
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Owner
from taskgate.testing import aws_resources

CAP, TASKS, WORKERS = 2, 12, 6
LANE = "cpu-low"
WITHIN = 240


@pytest.fixture
def environment(_emulated: None) -> Environment:
    """A lane of its own: whoever claims here is counted."""
    return aws_resources.create("caps")


@pytest.fixture
def ports(environment: Environment) -> Iterator[Ports]:
    ports = build(environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


@dataclass
class Floor:
    """Who runs just now, counted by the workers themselves: from after a claim to before an end."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int = 0
    most: int = 0
    ended: int = 0

    def enter(self) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)

    def leave(self) -> None:
        with self.lock:
            self.running -= 1


def test_workers_that_claim_at_the_same_moment_never_pass_the_cap(
    ports: Ports, environment: Environment, owner: Owner
) -> None:
    tenant = Owner(f"capped-{owner.user}", "ada")
    plan = replace(OPERATOR, submits_per_minute=None, max_processing=CAP)
    who = Principal(tenant, SCOPES, 100, "k", plan)
    request = SubmitRequest(type="embed_document", input={"text": "x"}, priority="low")
    made = [submit(ports, CATALOG, environment, who, request).task for _ in range(TASKS)]
    floor, give_up = Floor(), time.monotonic() + WITHIN
    threads = [
        threading.Thread(target=_work, args=(ports, environment, floor, n, give_up))
        for n in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ends = {task.state for task in ports.tasks.get_many([t.id for t in made]).values()}
    assert ends == {State.SUCCEEDED}
    assert floor.most == CAP
    books = ports.tasks.ledger(tenant)
    assert (books.succeeded, books.balanced) == (TASKS, True)


def _work(
    ports: Ports, environment: Environment, floor: Floor, number: int, give_up: float
) -> None:
    worker = WorkerGateway(ports, CATALOG, environment, f"w{number}")
    while floor.ended < TASKS and time.monotonic() < give_up:
        for delivery in ports.lanes.receive(LANE, wait=1):
            held = worker.claim(delivery)
            if isinstance(held, Held):
                _run(worker, held, floor)


def _run(worker: WorkerGateway, held: Held, floor: Floor) -> None:
    floor.enter()
    time.sleep(0.2)
    floor.leave()
    try:
        worker.succeed(held, [], "{}")
    except Refused as error:
        pytest.fail(str(error))
    with floor.lock:
        floor.ended += 1
