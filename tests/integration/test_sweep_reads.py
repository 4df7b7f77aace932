"""What a sweep reads depends on what is due, not on what there is: counted on the emulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from taskgate.aws.ports import build
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.states import State
from taskgate.local.emulator import Emulator
from taskgate.ports import Ports
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance import World

SHARDS = range(16)
DUE = 10


@pytest.fixture
def alone(emulator: Emulator, _emulated: None) -> Iterator[Ports]:
    """Tables in which no other test leaves anything due."""
    del emulator
    ports = build(aws_resources.create("sweep"))
    yield ports
    for port in (ports.tasks, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


def sweep_counted(ports: Ports) -> tuple[sweeping.Report, Counter[str]]:
    calls: Counter[str] = Counter()

    def called(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    events = ports.tasks._client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.dynamodb", called)
    report = sweeping.sweep(ports, SHARDS, ports.now() + 50_000)
    events.unregister("before-call.dynamodb", called)
    return report, calls


def test_a_sweep_reads_one_page_a_shard_and_one_item_a_due_task(alone: Ports) -> None:
    world = World(alone, owner=Owner("acme", "sweep"))
    for _ in range(200):
        world.new(State.QUEUED, due_at=alone.now() + 10**7)
    few, calls = sweep_counted(alone)
    # And one look at the operators' switches, however many are turned.
    assert (few.looked_at, calls) == (0, {"Query": len(SHARDS), "GetItem": 1})
    for _ in range(DUE):
        world.new(State.QUEUED, due_at=alone.now() - 1_000, sent_at=alone.now() - 200_000)
    report, calls = sweep_counted(alone)
    assert report.looked_at == DUE
    assert calls["Query"] == len(SHARDS)
    assert calls["BatchGetItem"] == DUE
    assert calls["UpdateItem"] == DUE
    print(f"sweep: 210 live, {DUE} due: {dict(calls)}")  # noqa: T201 - a figure to quote
