"""What each flow of a happy life costs in AWS calls and units, counted on the emulator.

``python -m tests.integration.measuring`` writes it into ``taskgate/cost/budgets.json``, which the cost model
reads; `test_budgets.py` holds the file against a fresh measurement.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import boto3

from taskgate.apikeys import issue
from taskgate.aws.codec import encode
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.cost.flows import BUDGETS
from taskgate.events import LOG
from taskgate.events import measure as log_metrics
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.views import reading
from taskgate.gateway.work.worker import Held, Produced, WorkerGateway
from taskgate.local.emulator import Emulator
from taskgate.metrics import labels
from taskgate.plans import OPERATOR
from taskgate.ports import Due, Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Callback, Owner, Task
from taskgate.testing import aws_resources

INPUT: Final = {"text": "What is a lease? A promise with an end."}
OUTPUT: Final = '{"vectors":3,"chunks":3,"pages":1,"dimensions":256}'
WRITES: Final = frozenset({"UpdateItem", "PutItem", "TransactWriteItems"})
READS: Final = frozenset({"GetItem", "Query"})
DEPLOYMENT: Final = labels("prod", "c0")


@dataclass
class Meter:
    """Counts AWS calls by name, the units that DynamoDB says they cost, and what is logged."""

    calls: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)

    def tap(self, *clients: Any) -> None:
        """Listen to these clients; one that is given twice is counted once."""
        for client in {id(c): c for c in clients}.values():
            client.meta.events.register("before-call", self._called)
            client.meta.events.register("provide-client-params.dynamodb", self._ask)
            client.meta.events.register("after-call.dynamodb", self._paid)

    @contextmanager
    def counting(self) -> Iterator[dict[str, Any]]:
        """What is called, used and logged within the block."""
        calls, units, counted = self.calls.copy(), self.units.copy(), dict[str, Any]()
        with _logged() as lines:
            yield counted
        used = {name: self.units[name] - units[name] for name in ("write_units", "read_units")}
        counted["calls"] = dict(self.calls - calls)
        counted |= {name: amount for name, amount in used.items() if amount}
        if lines:
            counted["log_bytes"] = sum(map(len, lines))

    def _called(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        if model.name == "BatchGetItem":
            # The emulator does not say what a batch costs: a unit for each consistent read.
            self.units["read_units"] += sum(len(t["Keys"]) for t in params["RequestItems"].values())
        asked = model.name in WRITES | READS
        return params | ({"ReturnConsumedCapacity": "INDEXES"} if asked else {})

    def _paid(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        paid = parsed.get("ConsumedCapacity", [])
        kind = "write_units" if model.name in WRITES else "read_units"
        for entry in paid if isinstance(paid, list) else [paid]:
            self.units[kind] += entry["CapacityUnits"]


def measure(ports: Ports, environment: Environment, folder: Path) -> dict[str, Any]:
    """Each flow by its name."""
    meter = Meter()
    adapters = (ports.tasks, ports.lanes, ports.results, ports.errands)
    meter.tap(*(port._client for port in adapters))  # type: ignore[attr-defined]
    owner = Owner("cost", os.urandom(4).hex())
    flows: dict[str, Any] = {"authorize": _authorize(ports, environment, meter, owner)}
    with meter.counting() as flows["submit"]:
        task = _submit(ports, environment, owner)
    with meter.counting() as flows["status"]:
        reading.view(ports, _who(owner), task.id)
    worker = WorkerGateway(ports, CATALOG, environment, "w-1234-abcd")
    assert not worker.paused(task.lane)  # as the poller asked before it received: known for 5 s
    with meter.counting() as flows["claim"]:
        held = _claim(ports, worker, task)
    with meter.counting() as flows["beat"]:
        worker.beat(held, 0.5, "embed")
    running = _at_its_clock(ports, task)
    with meter.counting() as flows["look"]:
        assert sweeping.look(running, Due(task.id, 0)) == "rearm"
    with meter.counting() as flows["finish"]:
        done = worker.succeed(held, [_file(folder)], OUTPUT)
    with meter.counting() as flows["result"]:
        reading.finished(ports, _who(owner), task.id)
    with meter.counting() as flows["callback"]:
        _call_back(ports, environment, done)
    with meter.counting() as flows["sweep"]:
        sweeping.sweep(ports, range(environment.clock_shards), ports.now() + 10_000)
    return {"flows": flows, "bytes": _bytes(ports, environment, done)}


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


def _authorize(ports: Ports, environment: Environment, meter: Meter, owner: Owner) -> Any:
    """A key that the authorizer does not remember."""
    client = ports.tasks._client  # type: ignore[attr-defined]
    keys = DynamoKeys(client, table=environment.tasks_table)
    key_id = issue(keys, owner, SCOPES).split("_")[1]
    with meter.counting() as counted:
        assert keys.get_key(key_id)
    return counted


def _who(owner: Owner) -> Principal:
    return Principal(owner, SCOPES, 100, "key", OPERATOR)


def _submit(ports: Ports, environment: Environment, owner: Owner) -> Task:
    hook = Callback("https://hooks.example.com/done", ("task.succeeded",))
    request = SubmitRequest(
        # A lane that no other test uses: what is received is this task.
        type="embed_document",
        input=INPUT,
        priority="high",
        idempotency_key="k",
        callback=hook,
    )
    return submitting.submit(ports, CATALOG, environment, _who(owner), request).task


def _claim(ports: Ports, worker: WorkerGateway, task: Task) -> Held:
    while True:
        for delivery in ports.lanes.receive(task.lane, wait=1):
            held = worker.claim(delivery)
            if isinstance(held, Held) and held.task.id == task.id:
                return held


def _at_its_clock(ports: Ports, task: Task) -> Ports:
    """The moment at which the clock of a run with a fresh beat is due, and is moved forward."""
    due_at = (ports.tasks.get(task.id) or task).due_at or 0
    return replace(ports, now=lambda: due_at)


def _file(folder: Path) -> Produced:
    result = folder / "vectors.npy"
    result.write_bytes(b"x" * 1000)
    return Produced("vectors.npy", str(result), "application/octet-stream")


def _call_back(ports: Ports, environment: Environment, task: Task) -> None:
    """The stream's errand, and the one attempt that an answering receiver takes."""

    def courier(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        del url, headers, body
        return Attempt(204, Reason.OK, 1)

    ports.errands.send(task.id, 0)
    secret = "whsec_" + "A" * 43 + "="
    outbox = Outbox(
        ports=ports,
        catalog=CATALOG,
        environment=environment,
        courier=courier,
        secrets=lambda _: (secret,),
    )
    assert outbox.settle(task.id) == "delivered"


def _bytes(ports: Ports, environment: Environment, done: Task) -> dict[str, int]:
    """What stays in the table of one task."""
    task = ports.tasks.get(done.id) or done
    return {"task": item_bytes(encode(task, environment.clock_shards))}


@contextmanager
def _logged() -> Iterator[list[str]]:
    """The events of the block, as they are formatted for a log."""
    lines: list[str] = []
    handler = logging.Handler()
    level, filters = LOG.level, list(LOG.filters)
    LOG.setLevel(logging.INFO)
    log_metrics(DEPLOYMENT)  # a line bears its metrics, and is paid with them
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    LOG.addHandler(handler)
    try:
        yield lines
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
        LOG.filters[:] = filters


def environment_with_errands(environment: Environment) -> Environment:
    """The bare environment, with a queue for errands."""
    with closing(boto3.client("sqs")) as sqs:
        url = sqs.create_queue(QueueName=f"cost-errands-{os.urandom(4).hex()}")["QueueUrl"]
    return replace(environment, errands=str(url))


def main() -> None:
    """Measure on an emulator of its own, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        emulator = Emulator(Path(folder))
        os.environ.update(emulator.client_variables)
        try:
            environment = environment_with_errands(aws_resources.create("cost"))
            found = measure(build(environment), environment, Path(folder))
        finally:
            emulator.stop()
    BUDGETS.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
