"""What a kept result costs, and that it costs only those who have one; counted on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.steer import steering
from taskgate.gateway.work.worker import Held, Produced, WorkerGateway
from taskgate.plans import OPERATOR
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import CancelMode, Owner, Task
from taskgate.testing import aws_resources
from tests.integration.measuring import Meter


@pytest.fixture
def environment(_emulated: None) -> Environment:
    """Lanes of its own: a message that another test left would be received, and counted."""
    return aws_resources.create("reuse")


@pytest.fixture
def ports(environment: Environment) -> Iterator[Ports]:
    ports = build(environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


def _submit(ports: Ports, environment: Environment, who: Principal, text: str) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": text}, priority="high")
    return submitting.submit(ports, CATALOG, environment, who, request).task


def _claim(ports: Ports, worker: WorkerGateway, task: Task) -> Held:
    while True:
        for delivery in ports.lanes.receive(task.lane, wait=1):
            held = worker.claim(delivery)
            if isinstance(held, Held) and held.task.id == task.id:
                return held


def _calls(counted: dict[str, Any]) -> dict[str, int]:
    return dict(counted["calls"])


def test_a_kept_result_costs_only_those_who_have_one(
    ports: Ports, environment: Environment, owner: Owner, tmp_path: Path
) -> None:
    who = Principal(Owner(owner.tenant, f"{owner.user}-keeps"), SCOPES, 100, "key", OPERATOR)
    worker, meter = WorkerGateway(ports, CATALOG, environment, "w-1234-abcd"), Meter()
    meter.tap(*(p._client for p in (ports.tasks, ports.lanes, ports.results)))  # type: ignore[attr-defined]
    with meter.counting() as before:
        task = _submit(ports, environment, who, "kept")
    assert _calls(before) == {"TransactWriteItems": 1, "SendMessage": 1, "UpdateItem": 2}
    held = _claim(ports, worker, task)
    steering.cancel(ports, who, task.id, CancelMode.SOFT)
    file = tmp_path / "vectors.npy"
    file.write_bytes(b"x" * 1000)
    with meter.counting() as kept:
        worker.succeed(held, [Produced("vectors.npy", str(file), "x/y")], "{}")
    # The refused success, the pulse, and the end with its result: once a soft cancel.
    finish = {"PutObject": 1, "TransactWriteItems": 2, "GetItem": 1, "DeleteMessage": 1}
    assert _calls(kept) == finish

    with meter.counting() as another:
        waits = _submit(ports, environment, who, "another")
    assert _calls(another) == {"TransactWriteItems": 2, "SendMessage": 1, "UpdateItem": 2}

    with meter.counting() as given:
        again = _submit(ports, environment, who, "kept")
    assert again.reused_from == task.id
    # The rate; the mark, the look, the copy, and the task that has ended; the one that it was of.
    assert _calls(given) == {
        "UpdateItem": 2,
        "TransactWriteItems": 3,
        "CopyObject": 1,
        "GetItem": 1,
    }

    # What stayed in the lane would be met by the next test that counts there.
    worker.succeed(_claim(ports, worker, waits), [], None)
