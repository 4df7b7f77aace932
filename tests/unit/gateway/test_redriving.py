"""Redrive over the in-memory ports: the right tasks, in small batches, with fresh budgets."""

from __future__ import annotations

import pytest

from taskgate.gateway.office import redriving
from taskgate.gateway.office.redriving import BATCH, REOPENED, Wanted
from taskgate.gateway.work.worker import Failure
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner, Task
from taskgate.testing.factories import OWNER
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_worker_gateway import CATALOG, claimed, gateway, submitted

OPERATOR = Principal(Owner("taskgate", "olga"), SCOPES, 1, "aws")
HOUR = 3600
BAD_INPUT = Failure(ErrorCode.INVALID_INPUT, "no", ErrorClass.PERMANENT)
BAD_MODEL = Failure(ErrorCode.MODEL_ERROR, "no", ErrorClass.PERMANENT)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def failed(world: MemoryWorld, failure: Failure = BAD_INPUT) -> Task:
    submitted(world)
    return gateway(world).fail(claimed(world), failure)


def ids_found(world: MemoryWorld, **wanted: object) -> set[str]:
    since = world.clock() - 30 * 24 * HOUR * 1000
    found = redriving.found(world.ports, Wanted(**{"since": since, **wanted}))  # type: ignore[arg-type]
    return {task.id for task in found}


def redriven(world: MemoryWorld, *ids: str, slept: list[float] | None = None) -> list[str]:
    sleep = (slept if slept is not None else []).append
    done = redriving.redrive(world.ports, CATALOG, OPERATOR, ids, "fixed", sleep)
    return [d.outcome for d in done]


def test_only_what_ended_badly_is_found(world: MemoryWorld) -> None:
    bad = failed(world)
    submitted(world)
    gateway(world).succeed(claimed(world), [], None)
    submitted(world)
    assert ids_found(world) == {bad.id}


def test_a_filter_keeps_type_code_and_time_apart(world: MemoryWorld) -> None:
    old = failed(world, BAD_MODEL)
    world.clock.advance(50 * HOUR)
    new = failed(world)
    assert ids_found(world) == {old.id, new.id}
    assert ids_found(world, code=ErrorCode.MODEL_ERROR) == {old.id}
    assert ids_found(world, since=world.clock() - HOUR * 1000) == {new.id}
    world.clock.advance(60)
    assert ids_found(world, since=world.clock() - 59_000) == set()
    assert ids_found(world, type="text_to_image") == set()
    assert ids_found(world, type="embed_document") == {old.id, new.id}


def test_a_redriven_task_lives_afresh_and_its_history_says_who_did_it(world: MemoryWorld) -> None:
    bad = failed(world)
    assert redriven(world, bad.id) == [REOPENED]
    task = world.tasks.tasks[bad.id]
    assert (task.state, task.generation, task.budgets.retries.spent) == (State.QUEUED, 1, 0)
    assert (task.history[-1].actor, task.history[-1].reason) == ("operator:olga/aws", "fixed")
    assert task.history[: len(bad.history)] == bad.history
    assert gateway(world).succeed(claimed(world), [], None).state is State.SUCCEEDED
    assert world.tasks.ledger(OWNER).balanced
    assert ids_found(world) == set()


def test_redriving_twice_reopens_once(world: MemoryWorld) -> None:
    bad = failed(world)
    assert redriven(world, bad.id, bad.id) == [REOPENED, "left: it is queued"]


def test_one_that_cannot_be_reopened_does_not_stop_the_others(world: MemoryWorld) -> None:
    live, bad = submitted(world), None
    claimed(world)
    bad = failed(world)
    outcomes = redriven(world, live.id, "task_gone", bad.id)
    assert outcomes[0] == "left: it is processing"
    assert outcomes[1].startswith("left: ")
    assert outcomes[2] == REOPENED


def test_many_are_reopened_in_small_batches_with_a_pause_between(world: MemoryWorld) -> None:
    ids = [failed(world).id for _ in range(2 * BATCH + 1)]
    slept: list[float] = []
    assert set(redriven(world, *ids, slept=slept)) == {REOPENED}
    assert len(slept) == 2
