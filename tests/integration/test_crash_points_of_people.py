"""What people do to a task that lives, with a fault at every single AWS call in turn.

An operator acts on many or turns a switch while a worker claims, an owner hands in an upload, an
administrator rotates a key. Each goes on trying until it has an answer, as people do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import httpx
import pytest

from taskgate import apikeys
from taskgate.aws import clients
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.ports import build, now
from taskgate.bulks import Bulk, BulkAct, BulkState, Wanted
from taskgate.catalog import CATALOG
from taskgate.errors import ExpiredKey, Unavailable
from taskgate.gateway import switching
from taskgate.gateway.door import uploading
from taskgate.gateway.office import bulk, bulk_working
from taskgate.gateway.work.worker import Held, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.marks import Acting
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.results import Stored
from taskgate.settings import Environment
from taskgate.switches import Kind, Switch
from taskgate.task import Owner, Task
from taskgate.testing import aws_resources
from taskgate.testing.clock import VirtualClock
from taskgate.testing.faults import Crash, Fault, Wire
from tests.integration.lives import BROKEN, Life, drain

R = TypeVar("R")

_PLACES = itertools.count(1)
OPERATOR = Principal(Owner("taskgate", "olga"), SCOPES, 1, "ops")
LANE = Switch(kind=Kind.LANE, name="cpu-normal")
MOST_TRIES = 4


def answered(act: Callable[[], R]) -> R:
    """Whoever gets no answer asks again."""
    for _ in range(MOST_TRIES):
        with suppress(Unavailable, Crash):
            return act()
    raise AssertionError(f"no answer in {MOST_TRIES} tries")


class CanceledInBulk(Life):
    """Canceled while it runs, by a bulk act that the sweep's function works on."""

    def live(self) -> Task:
        self._submit("")
        # What is created from the dry run on is left alone.
        self.clock.advance(1)
        self.dry = answered(self._plan)
        answered(lambda: bulk.confirm(self.ports, OPERATOR, self.dry.bulk.id, self.dry.token))
        task = self._lived()
        for _ in range(MOST_TRIES):
            if self._act().state is BulkState.DONE:
                break
            # Whoever died held it for a while.
            self.clock.advance(91)
            self._surviving(self._work_on_it)
        return task

    def _act(self) -> Bulk:
        act = self.observer.bulks and self.observer.bulks.get_bulk(self.dry.bulk.id)
        assert act is not None
        return act

    def _plan(self) -> bulk.DryRun:
        wanted = Wanted(tenant=self.owner.tenant, user=self.owner.user)
        return bulk.plan(self.ports, OPERATOR, BulkAct.CANCEL, wanted, "together", 1)

    def _work_on_it(self) -> None:
        bulk_working.work(self.ports, CATALOG, 1, self.clock() + 50_000)

    def _run(self, worker: WorkerGateway, held: Held) -> None:
        if not self.canceled:
            self._surviving(self._work_on_it)
            self.canceled = True
        super()._run(worker, held)

    def _sweep(self) -> None:
        super()._sweep()
        self._work_on_it()

    def check(self, task: Task, where: str) -> None:
        act = self._act()
        acted = sum(entry.reason.startswith(act.id) for entry in task.history)
        assert act.state is BulkState.DONE, where
        assert acted <= 1, f"{where}: {task.history}"
        assert (task.state is State.CANCELED) == (acted == 1), where
        assert task.state in {State.CANCELED, State.SUCCEEDED}, where


class HeldBack(Life):
    """Its lane is paused before it is claimed, resumed in the middle of a claim, and paused again
    while it runs.
    """

    def live(self) -> Task:
        answered(self._pause)
        self._submit("")
        task = self._lived()
        answered(self._resume)
        return task

    def _pause(self) -> None:
        switching.pause(self.ports, CATALOG, OPERATOR, LANE, "the driver")

    def _resume(self) -> None:
        switching.resume(self.ports, CATALOG, OPERATOR, LANE, "mended")

    def _work(self, name: str) -> None:
        worker = WorkerGateway(self.ports, CATALOG, self.environment, name, draw=lambda: 0.0)
        worker.paused(LANE.name)
        if name != "w0":
            # The worker has read the switches just now, and goes by them for a moment.
            answered(self._resume)
        for delivery in self.ports.lanes.receive(LANE.name, most=10):
            held = worker.claim(delivery)
            if isinstance(held, Held):
                self._surviving(lambda: answered(self._pause))
                self._run(worker, held)
                self._surviving(lambda: answered(self._resume))

    def check(self, task: Task, where: str) -> None:
        assert task.state is State.SUCCEEDED, f"{where}: {task}"
        switches = self.observer.switches
        assert switches is not None, where
        assert not switches.read_switches().get(LANE.kind, LANE.name).paused, where


class Uploaded(Life):
    """Its input is a file that was uploaded, and that its run fetches."""

    def live(self) -> Task:
        self.upload = answered(self._announce)
        form = {"data": dict(self.upload.form.fields), "files": {"file": ("f", b"hello")}}
        with httpx.Client(trust_env=False, timeout=60) as http:
            http.post(self.upload.form.url, **form).raise_for_status()  # type: ignore[arg-type]
        return super().live()

    def _announce(self) -> uploading.Upload:
        terms = Stored(size=5, content_type="text/plain")
        return uploading.begin(self.ports, CATALOG, self.environment, self.who, terms)

    def input(self) -> Mapping[str, Any]:
        return {"document": {"upload": self.upload.id}}

    def _run(self, worker: WorkerGateway, held: Held) -> None:
        given = self.folder / "given"
        try:
            worker.files(held).upload(self.upload.id, str(given))
        except Unavailable:
            self._ended(lambda: worker.fail(held, BROKEN))
            return
        assert given.read_bytes() == b"hello"
        super()._run(worker, held)

    def check(self, task: Task, where: str) -> None:
        assert task.state is State.SUCCEEDED, f"{where}: {task}"


@pytest.fixture(autouse=True)
def _no_waiting_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own back-off is not what is tested here."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def place(_emulated: None) -> Environment:
    """Tables, lanes and a bucket of its own: a switch and a late clock are nobody else's."""
    made = aws_resources.create(f"people{next(_PLACES)}")
    return replace(made, clock_shards=1)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(now())


@pytest.fixture
def make_ports(place: Environment, clock: VirtualClock) -> Iterator[Callable[[], Ports]]:
    opened: list[Ports] = []

    def make() -> Ports:
        opened.append(at_this_time(build(place), clock))
        return opened[-1]

    yield make
    for ports in opened:
        for port in (ports.tasks, ports.lanes, ports.results):
            port._client.close()  # type: ignore[attr-defined]


def at_this_time(ports: Ports, clock: VirtualClock) -> Ports:
    """The same ports by another clock; caps are not what is tried here."""
    for port in (ports.tasks, ports.pulses, ports.rates, ports.spreads, ports.receivers):
        port._now = clock  # type: ignore[union-attr]
    return replace(ports, now=clock, slots=None)


@pytest.mark.parametrize("life_of", [CanceledInBulk, HeldBack, Uploaded])
@pytest.mark.parametrize("fault", list(Fault))
def test_a_fault_at_any_call_of_what_people_do_loses_or_doubles_nothing(
    fault: Fault,
    life_of: type[CanceledInBulk | HeldBack | Uploaded],
    make_ports: Callable[[], Ports],
    place: Environment,
    clock: VirtualClock,
    tmp_path: Path,
) -> None:
    points, ports, observer, wire = 0, make_ports(), make_ports(), Wire()
    wire.tap(ports)
    for at in itertools.count():
        wire.arm(at, fault)
        life = life_of(ports, observer, clock, place, tmp_path, "")
        task = life.live()
        where = f"{fault} at call {at} ({wire.hit[at] if at < len(wire.hit) else '-'})"
        books = observer.tasks.ledger(life.owner)
        assert (books.submitted, books.active, books.ended) == (1, frozenset(), 1), where
        assert task.due_at is None, where
        assert max(life.effective.values(), default=0) <= 1, where
        life.check(task, where)
        drain(observer)
        if at >= len(wire.hit):
            break
        points += wire.fired
    print(f"crash points, {life_of.__name__}, {fault}: {points} points, all green")  # noqa: T201
    assert points > (1 if fault is Fault.CONFLICT else 10)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.CONFLICT])
def test_a_fault_at_any_call_of_a_rotation_locks_nobody_out_and_ends_the_old_key(
    fault: Fault, place: Environment
) -> None:
    points, wire, at_ms = 0, Wire(), now()
    tapped, seen = (DynamoKeys(clients.dynamodb(), table=place.tasks_table) for _ in range(2))
    wire.tap_clients(tapped._client)
    for at in itertools.count():
        old = apikeys.issue(seen, Owner("acme", f"rotating{at}"), frozenset({"tasks:read"}))
        wire.arm(at, fault)
        new = _rotated(tapped, seen, old, at_ms)
        fired, _ = wire.fired, wire.arm(-1, fault)
        where = f"{fault} at call {at}"
        assert apikeys.authenticate(seen, new, at_ms // 1000).owner.user == f"rotating{at}", where
        with pytest.raises(ExpiredKey):
            apikeys.authenticate(seen, old, at_ms // 1000 + 61)
        if not fired:
            break
        points += 1
    for keys in (tapped, seen):
        keys._client.close()
    print(f"crash points, rotation, {fault}: {points} points, all green")  # noqa: T201
    assert points >= 4


def _rotated(tapped: DynamoKeys, seen: DynamoKeys, old: str, at_ms: int) -> str:
    """Again until it is answered; the old key is good all the while."""
    for _ in range(MOST_TRIES):
        with suppress(Unavailable, Crash):
            return apikeys.rotate(tapped, apikeys.id_of(old), Acting("ann", at_ms), overlap=60)
        assert apikeys.authenticate(seen, old, at_ms // 1000)
    raise AssertionError("no rotation in four tries")
