"""A drill: the tasks table is restored to ten minutes ago, and everything beside it is newer."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from taskgate.errors import LeaseLost
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.office import restoring
from taskgate.gateway.office.restoring import Finding, Kind, Outcome
from taskgate.gateway.steer import operating
from taskgate.gateway.work.worker import Failure, Held, Produced
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import Task
from taskgate.testing.factories import OWNER
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.footprints import MemoryFootprints
from tests.unit.gateway.test_books_under_chaos import Chaos
from tests.unit.gateway.test_reconciling import check
from tests.unit.gateway.test_sweeping import sweep_for
from tests.unit.gateway.test_worker_gateway import (
    CATALOG,
    ENVIRONMENT,
    LANE,
    WHO,
    claimed,
    gateway,
    submitted,
)

TEN_MINUTES = 600
HOPELESS = Failure(ErrorCode.INVALID_INPUT, "no", ErrorClass.PERMANENT)


class Drill(Chaos):
    """Random lives whose results have bytes of their own, so that a mix-up shows."""

    def __init__(self, world: MemoryWorld, seed: int, folder: Path) -> None:
        super().__init__(world, seed)
        self.folder = folder

    def succeed(self) -> None:
        if self.held:
            self.end(self._any())

    def end(self, held: Held) -> None:
        file = self.folder / "out"
        file.write_bytes(self.rng.randbytes(16))
        gateway(self.world).succeed(held, [Produced("out", str(file), "x/y")], None)

    def work(self) -> None:
        """Workers of today take what there is and end it well."""
        for _ in range(40):
            while found := self.world.lanes.receive(LANE, most=10):
                for held in map(gateway(self.world).claim, found):
                    if isinstance(held, Held):
                        gateway(self.world).beat(held, 0.5, "")
                        self.end(held)
            sweep_for(self.world, 60)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def caught_up(world: MemoryWorld, at: int, *, apply: bool = True) -> Sequence[Finding]:
    return list(restoring.catch_up(world.ports, MemoryFootprints(world), at, apply=apply))


@pytest.mark.parametrize("seed", range(8))
def test_after_a_restore_to_ten_minutes_ago_every_task_on_record_ends_with_its_own_bytes(
    world: MemoryWorld, tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    drill = Drill(world, seed, tmp_path)
    for _ in range(300):
        drill.act()
    backup, at, known = world.tasks.backup(), world.clock(), set(drill.ids)
    world.clock.advance(TEN_MINUTES)
    for _ in range(300):
        drill.act()
    after = set(drill.ids) - known
    ran = {i for i in after if i in world.pulses.pulses or _stored(world, i)}

    drill.held.clear()
    world.tasks.restore(backup)
    found = caught_up(world, at)
    with caplog.at_level(logging.INFO, "taskgate"):
        drill.work()

    tasks = world.tasks.tasks
    assert set(tasks) == known
    assert {i for i in known if not tasks[i].state.ended} == set()
    for task in tasks.values():
        _bears_its_own_bytes(world, task)
    assert check(world).differences == []
    lost = {f.footprint.task_id for f in found if f.kind is Kind.LOST}
    assert lost == ran
    assert world.lanes.total() == 0
    assert _dropped(caplog) <= after
    assert len(known) > 20 < len(after)
    assert lost | _dropped(caplog)


def test_a_task_of_which_later_attempts_ran_gets_one_beyond_them_all(world: MemoryWorld) -> None:
    task = submitted(world)
    backup, at = world.tasks.backup(), world.clock()
    for number in (1, 2):
        held = claimed(world, f"w{number}")
        gateway(world, f"w{number}").beat(held, 0.1, "")
        world.clock.advance(46)
    world.tasks.restore(backup)
    (finding,) = caught_up(world, at)
    assert (finding.kind, finding.known, finding.footprint.attempt) == (Kind.BEHIND, 0, 2)
    assert finding.outcome is Outcome.RAISED
    assert caught_up(world, at) == []
    held = claimed(world, "w3")
    assert held.task.attempt == 3
    gateway(world, "w3").beat(held, 0.5, "")
    assert gateway(world, "w3").succeed(held, [], "{}").budgets.crashes.spent == 0
    assert world.state(task.id) is State.SUCCEEDED


def test_without_it_the_new_holder_would_be_refused_as_if_it_were_the_late_one(
    world: MemoryWorld,
) -> None:
    submitted(world)
    backup = world.tasks.backup()
    for _ in (1, 2):
        gateway(world).beat(claimed(world), 0.1, "")
        world.clock.advance(46)
    world.tasks.restore(backup)
    held = claimed(world)
    with pytest.raises(LeaseLost):
        gateway(world).beat(held, 0.1, "")


def test_a_worker_that_was_not_stopped_goes_on_with_what_it_holds(world: MemoryWorld) -> None:
    task = submitted(world)
    first = claimed(world, "w1")
    gateway(world, "w1").beat(first, 0.1, "")
    backup, at = world.tasks.backup(), world.clock()
    world.clock.advance(46)
    second = claimed(world, "w2")
    gateway(world, "w2").beat(second, 0.1, "")
    world.tasks.restore(backup)
    caught_up(world, at)
    assert gateway(world, "w2").succeed(second, [], "{}").state is State.SUCCEEDED
    assert world.tasks.tasks[task.id].attempt == 2


def test_a_dry_run_tells_the_same_and_changes_nothing(world: MemoryWorld) -> None:
    submitted(world)
    backup, at = world.tasks.backup(), world.clock()
    gateway(world).beat(claimed(world), 0.1, "")
    world.clock.advance(1)
    gateway(world).beat(_newly_claimed(world), 0.1, "")
    pulses = dict(world.pulses.pulses)
    world.tasks.restore(backup)
    shown = caught_up(world, at, apply=False)
    assert {f.kind for f in shown} == {Kind.BEHIND, Kind.LOST}
    assert {f.outcome for f in shown} == {Outcome.SHOWN}
    assert (world.tasks.backup(), world.pulses.pulses) == (backup, pulses)


def test_an_ended_task_that_had_been_reopened_is_left_and_can_be_reopened_again(
    world: MemoryWorld,
) -> None:
    task = submitted(world)
    gateway(world).fail(claimed(world), HOPELESS)
    backup, at, ended = world.tasks.backup(), world.clock(), world.tasks.tasks[task.id]
    operating.reopen(world.ports, CATALOG, WHO, task.id)
    held = claimed(world)
    gateway(world).beat(held, 0.1, "")
    gateway(world).succeed(held, [], "{}")
    world.tasks.restore(backup)
    (finding,) = caught_up(world, at)
    assert (finding.kind, finding.outcome) == (Kind.OUTLIVED, Outcome.FORGOTTEN)
    assert world.tasks.tasks[task.id] == ended
    operating.reopen(world.ports, CATALOG, WHO, task.id)
    again = claimed(world)
    gateway(world).beat(again, 0.2, "")
    assert gateway(world).succeed(again, [], "{}").state is State.SUCCEEDED


def test_a_client_that_submits_again_with_its_key_gets_a_task_for_the_one_that_was_lost(
    world: MemoryWorld,
) -> None:
    backup = world.tasks.backup()
    request = SubmitRequest(
        type="embed_document", input={"text": "hello"}, idempotency_key="order-1"
    )
    lost = submitting.submit(world.ports, CATALOG, ENVIRONMENT, WHO, request)
    world.tasks.restore(backup)
    again = submitting.submit(world.ports, CATALOG, ENVIRONMENT, WHO, request)
    assert again.task.id != lost.task.id
    assert world.tasks.ledger(OWNER).active == {again.task.id}


def _stored(world: MemoryWorld, task_id: str) -> bool:
    return any(key.startswith(f"r/acme/{task_id}/") for key in world.results.objects)


def _bears_its_own_bytes(world: MemoryWorld, task: Task) -> None:
    for file in task.result:
        assert hashlib.sha256(world.results.objects[file.key]).digest() == file.sha256


def _dropped(caplog: pytest.LogCaptureFixture) -> set[str]:
    """What the workers' log says of messages whose task is not on record."""
    told = [json.loads(record.message) for record in caplog.records if record.name == "taskgate"]
    return {e["task"] for e in told if e.get("reason") == "no such task, and it did not appear"}


def _newly_claimed(world: MemoryWorld) -> Held:
    submitted(world)
    return claimed(world)
