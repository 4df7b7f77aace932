"""The budgets of calls and write units (DESIGN section 4), counted on the emulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from taskgate.aws.codec import encode
from taskgate.catalog import CATALOG
from taskgate.gateway import reading, submitting
from taskgate.gateway.submitting import SubmitRequest
from taskgate.gateway.worker import Held, Produced, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.plans import OPERATOR
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Owner, Task

INPUT = {"text": "What is a lease? A promise with an end."}


@dataclass
class Meter:
    """Counts AWS calls by name, and the write units that DynamoDB says they cost."""

    calls: Counter[str] = field(default_factory=Counter)
    write_units: float = 0.0

    def handlers(self) -> dict[str, Any]:
        """What to hook into a client's events."""
        return {
            "before-call": self._called,
            "provide-client-params.dynamodb": self._ask,
            "after-call.dynamodb": self._paid,
        }

    def _called(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        if model.name in {"UpdateItem", "PutItem", "TransactWriteItems"}:
            return params | {"ReturnConsumedCapacity": "INDEXES"}
        return params

    def _paid(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in {"UpdateItem", "PutItem", "TransactWriteItems"}:
            paid = parsed.get("ConsumedCapacity", [])
            for entry in paid if isinstance(paid, list) else [paid]:
                self.write_units += entry["CapacityUnits"]

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        before, counted = self.calls.copy(), Counter[str]()
        yield counted
        counted.update(self.calls - before)


@pytest.fixture
def meter(ports: Ports) -> Iterator[Meter]:
    meter = Meter()
    # Tasks, pulses and rates share a client: its calls are counted once.
    hooks = [
        (port._client.meta.events, name, handler)  # type: ignore[attr-defined]
        for port in (ports.tasks, ports.lanes, ports.results)
        for name, handler in meter.handlers().items()
    ]
    for events, name, handler in hooks:
        events.register(name, handler)
    yield meter
    for events, name, handler in hooks:
        events.unregister(name, handler)


@pytest.fixture
def worker(ports: Ports, environment: Environment) -> WorkerGateway:
    return WorkerGateway(ports, CATALOG, environment, "w-1234-abcd")


def _submit(ports: Ports, environment: Environment, owner: Owner) -> Task:
    who = Principal(owner, SCOPES, 100, "key", OPERATOR)
    # A lane that no other test here uses: what is received is this task.
    request = SubmitRequest(
        type="embed_document", input=INPUT, priority="high", idempotency_key="k"
    )
    return submitting.submit(ports, CATALOG, environment, who, request).task


def _claim(ports: Ports, worker: WorkerGateway, task: Task) -> Held:
    while True:
        for delivery in ports.lanes.receive(task.lane, wait=1):
            held = worker.claim(delivery)
            if isinstance(held, Held) and held.task.id == task.id:
                return held


def test_a_happy_life_keeps_the_budgets_of_calls_and_write_units(
    ports: Ports,
    environment: Environment,
    owner: Owner,
    worker: WorkerGateway,
    meter: Meter,
    tmp_path: Path,
    record_property: Any,
) -> None:
    with meter.counting() as submit:
        task = _submit(ports, environment, owner)
    # The rate, the records, the message, the mark: the 4 calls of the design.
    assert submit == {"TransactWriteItems": 1, "SendMessage": 1, "UpdateItem": 2}

    with meter.counting() as status:
        reading.view(ports, Principal(owner, SCOPES, 100, "key"), task.id)
    assert status == {"BatchGetItem": 1}

    assert not worker.paused(task.lane)  # as the poller asked before it received: known for 5 s
    with meter.counting() as claim:
        held = _claim(ports, worker, task)
    assert claim == {"ReceiveMessage": 1, "UpdateItem": 1, "GetItem": 1}

    units_before_beat = meter.write_units
    with meter.counting() as beat:
        worker.beat(held, 0.5, "embed")
    assert beat == {"UpdateItem": 1, "ChangeMessageVisibility": 1}
    meter.write_units = units_before_beat

    result = tmp_path / "vectors.npy"
    result.write_bytes(b"x" * 1000)
    with meter.counting() as finish:
        file = Produced("vectors.npy", str(result), "application/octet-stream")
        done = worker.succeed(held, [file], '{"vectors":3,"chunks":3,"pages":1,"dimensions":256}')
    assert finish == {"PutObject": 1, "TransactWriteItems": 1, "DeleteMessage": 1}
    assert done.state is State.SUCCEEDED

    record_property("write_units", meter.write_units)
    print(f"write units of a happy life: {meter.write_units}")  # noqa: T201 - a figure to quote
    assert 0 < meter.write_units <= 24

    size = item_bytes(encode(ports.tasks.get(task.id) or done, environment.clock_shards))
    print(f"bytes of the ended task item: {size}")  # noqa: T201 - a figure to quote
    assert size < 1024


def item_bytes(value: Any) -> int:
    """The size that DynamoDB bills, by its published rules."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in {"S", "N", "B", "L"}:
        kind, inner = next(iter(value.items()))
        match kind:
            case "S":
                return len(inner.encode())
            case "N":
                return len(inner.strip("-0.")) // 2 + 2
            case "B":
                return len(inner)
            case _:
                return 3 + sum(1 + item_bytes(v) for v in inner)
    return sum(len(name.encode()) + item_bytes(v) for name, v in value.items())
