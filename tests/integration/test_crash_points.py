"""The whole life of a task, with a fault at every single AWS call in turn.

The calls are counted in a life without faults, so a new call is covered without being named.
`make crash-points` prints the number of points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from taskgate.aws import clients
from taskgate.aws.bucket import S3Results
from taskgate.aws.errands import SqsErrands
from taskgate.aws.lanes import SqsLanes
from taskgate.aws.ports import now
from taskgate.aws.pulses import DynamoPulses
from taskgate.aws.rates import DynamoRates
from taskgate.aws.tasks import DynamoTasks
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.settings import Environment
from taskgate.task import Task
from taskgate.testing.clock import VirtualClock
from taskgate.testing.faults import Fault, Wire
from taskgate.testing.memory.receivers import MemoryReceivers
from tests.integration.lives import Life, drain

_YEARS = itertools.count(1)


@pytest.fixture
def clock() -> VirtualClock:
    """Each test lives in a year of its own: what others left in shared rates is long past."""
    year = 366 * 24 * 3_600_000
    return VirtualClock(now() + next(_YEARS) * year)


@pytest.fixture(autouse=True)
def _no_waiting_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own back-off is not what is tested here."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def one_shard(environment: Environment) -> Environment:
    # Two rounds: a result that is kept for longer only adds rounds in which nothing happens.
    return replace(environment, clock_shards=1, salvage_seconds=130)


@pytest.fixture
def make_ports(one_shard: Environment, clock: VirtualClock) -> Iterator[Callable[[], Ports]]:
    opened: list[object] = []

    def make() -> Ports:
        dynamodb, sqs, s3 = clients.dynamodb(), clients.sqs(), clients.s3()
        opened.extend((dynamodb, sqs, s3))
        return Ports(
            tasks=DynamoTasks(
                dynamodb,
                tasks=one_shard.tasks_table,
                ephemeral=one_shard.ephemeral_table,
                clock_shards=1,
                now=clock,
            ),
            pulses=DynamoPulses(dynamodb, table=one_shard.ephemeral_table, now=clock),
            rates=DynamoRates(dynamodb, table=one_shard.ephemeral_table, now=clock),
            lanes=SqsLanes(sqs, one_shard.lanes),
            results=S3Results(s3, one_shard.results_bucket),
            errands=SqsErrands(sqs, one_shard.errands),
            receivers=MemoryReceivers(),
            now=clock,
        )

    yield make
    for client in opened:
        client.close()  # type: ignore[attr-defined]


KINDS = ("success", "retry", "drain", "cancel", "owes", "priority", "salvage")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", list(Fault))
def test_a_fault_at_any_call_never_loses_or_doubles_a_task(
    fault: Fault,
    kind: str,
    make_ports: Callable[[], Ports],
    one_shard: Environment,
    clock: VirtualClock,
    tmp_path: Path,
) -> None:
    points, reused, ports, observer = 0, 0, make_ports(), make_ports()
    wire = Wire()
    wire.tap(ports)
    for at in itertools.count():
        wire.arm(at, fault)
        life = Life(ports, observer, clock, one_shard, tmp_path, kind)
        try:
            task = life.live()
            where = f"{fault} at call {at} ({wire.hit[at] if at < len(wire.hit) else '-'})"
            _accounted(observer, life, task, where)
            # At the latest where no fault is left to fire, the second submit is given what was kept.
            reused += bool(task.reused_from)
        finally:
            drain(observer)
        if at >= len(wire.hit):
            break
        points += wire.fired
    print(f"crash points, {kind}, {fault}: {points} points, all green")  # noqa: T201
    assert points > (1 if fault is Fault.CONFLICT else 10)
    assert bool(task.reused_from) == bool(reused) == (kind == "salvage")


def _accounted(ports: Ports, life: Life, task: Task, where: str) -> None:
    books, tasks = ports.tasks.ledger(life.owner), 1 + task.follow_ups + bool(life.first)
    assert (books.submitted, books.active, books.ended) == (tasks, frozenset(), tasks), where
    assert task.due_at is None, where
    assert max(life.effective.values(), default=0) <= 1, where
    if life.kind == "owes":
        # At least once, and always the same bytes.
        assert len(set(life.delivered)) == 1, where
    if life.first is not None:
        _one_result(ports, life.first, task, where)
    elif life.kind != "cancel":
        assert task.state is State.SUCCEEDED, f"{where}: {task}"
        (file,) = task.result
        key = f"r/acme/{task.id}/{task.attempt}/o"
        assert file.key == key, where
        assert ports.results.read(key, 100) == f"attempt {task.attempt}".encode(), where
    else:
        assert task.state in {State.CANCELED, State.SUCCEEDED}, where
    steps = [e.verb for e in task.history]
    assert steps[0] == "submit", where
    assert set(steps) & {"succeed", "stopped", "cancel", "reuse"}, where


def _one_result(ports: Ports, first: Task, task: Task, where: str) -> None:
    """The second submit has a result, of its own run or of the first; the first one's are gone."""
    assert first.due_at is None, where
    assert task.state is State.SUCCEEDED, f"{where}: {task}"
    assert task.reused_from in (None, first.id), where
    (file,) = task.result
    assert file.key == f"r/acme/{task.id}/{task.attempt}/o", where
    assert (ports.results.read(file.key, 100) or b"").startswith(b"attempt "), where
    if task.reused_from:
        assert first.state is State.CANCELED, where
    if first.state is State.CANCELED:
        assert ports.results.look(f"r/acme/{first.id}/1/o") is None, where
