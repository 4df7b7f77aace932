"""Puts recorded items into empty tables at the time of their recording, and lets this version go on."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from moto import mock_aws

from taskgate.aws import ports as aws_ports
from taskgate.catalog import CATALOG
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Held, Produced, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.ports import Due, Message, Ports
from taskgate.settings import Environment
from taskgate.task import Task
from taskgate.testing import aws_resources
from taskgate.testing.memory.errands import MemoryErrands

ITEMS: Final = Path(__file__).parent / "items"
STEP_MS: Final = 60_000
Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Now:
    """The time, which a test moves on."""

    ms: int

    def __call__(self) -> int:
        return self.ms


@dataclass
class SideBySide:
    """Items of another version in this version's tables, and this version's actors."""

    cases: Mapping[str, str]
    ports: Ports
    environment: Environment
    now: Now
    told: list[str]
    """What was posted to callbacks."""

    def task(self, case: str) -> Task:
        """The task of a case, as this version reads it."""
        found = self.ports.tasks.get(self.cases[case])
        assert found is not None
        return found

    def live_on(self) -> dict[str, Task]:
        """Sweep, work and settle, a minute each, until all have ended and owe nothing."""
        for _ in range(90):
            left = [t for t in map(self.task, self.cases) if not t.state.ended or t.due_at]
            if not left:
                return {case: self.task(case) for case in self.cases}
            for task in left:
                self._step(task)
            self.now.ms += STEP_MS
        raise AssertionError(f"not ended: {left}")

    def raw(self, case: str) -> dict[str, Any]:
        """The task's item as it stands in the table."""
        key = {"pk": {"S": f"TASK#{self.cases[case]}"}, "sk": {"S": "TASK"}}
        answer = boto3.client("dynamodb").get_item(TableName=self.environment.tasks_table, Key=key)
        return dict(answer["Item"])

    def _step(self, task: Task) -> None:
        if task.state.ended:
            self._outbox().settle(task.id)
            return
        sweeping.look(self.ports, Due(task.id, 0))
        self._work(task)

    def _work(self, task: Task) -> None:
        self.ports.lanes.send(task.lane, Message.of(self._again(task)))
        worker = WorkerGateway(self.ports, CATALOG, self.environment, "w-2-new")
        for delivery in self.ports.lanes.receive(task.lane):
            held = worker.claim(delivery)
            if isinstance(held, Held):
                assert json.loads(held.input or "")["text"]
                self._finish(worker, held)

    def _finish(self, worker: WorkerGateway, held: Held) -> None:
        worker.beat(held, 0.5, "embed")
        with tempfile.NamedTemporaryFile() as file:
            made = Produced("vectors.npy", file.name, "application/octet-stream")
            worker.succeed(held, [made], '{"vectors":1}')

    def _again(self, task: Task) -> Task:
        return self.ports.tasks.get(task.id) or task

    def _outbox(self) -> Outbox:
        def courier(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
            del headers
            self.told.append(f"{url} {json.loads(body)['type']}")
            return Attempt(204, Reason.OK, 1)

        return Outbox(
            ports=self.ports,
            catalog=CATALOG,
            environment=self.environment,
            courier=courier,
            secrets=lambda _: ("whsec_" + base64.b64encode(b"s" * 32).decode(),),
        )


def _as_it_is(item: dict[str, Any]) -> dict[str, Any]:
    return item


@contextmanager
def side_by_side(version: str, change: Change = _as_it_is) -> Iterator[SideBySide]:
    """The recorded items of a version, each changed as told, before this version's actors."""
    recorded = json.loads((ITEMS / f"{version}.json").read_text())
    now = Now(recorded["recorded_at"] + 1000)
    with mock_aws(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(aws_ports, "now", now)
        environment = aws_resources.create("new")
        ports = replace(aws_ports.build(environment), errands=MemoryErrands(now))
        for table in ("tasks", "ephemeral"):
            put = partial(_put, getattr(environment, f"{table}_table"), change)
            for item in recorded[table]:
                put(item)
        yield SideBySide(recorded["cases"], ports, environment, now, [])


def _put(table: str, change: Change, item: dict[str, Any]) -> None:
    boto3.client("dynamodb").put_item(TableName=table, Item=change(_with_bytes(item)))


def _with_bytes(value: Any) -> Any:
    """JSON has no bytes: they were written down in base64."""
    if isinstance(value, dict):
        if set(value) == {"B"}:
            return {"B": base64.b64decode(value["B"])}
        return {name: _with_bytes(part) for name, part in value.items()}
    return [_with_bytes(part) for part in value] if isinstance(value, list) else value


ENDS: Final = {
    "queued": State.SUCCEEDED,
    "processing": State.SUCCEEDED,
    "stalled": State.SUCCEEDED,
    "retrying": State.SUCCEEDED,
    "scheduled": State.SUCCEEDED,
    "canceling": State.CANCELED,
    "canceled": State.CANCELED,
    "failed": State.FAILED,
    "succeeded": State.SUCCEEDED,
    "owing": State.SUCCEEDED,
}
"""How each case ends when this version goes on with it."""
