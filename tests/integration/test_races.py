"""Races, on the emulator: many writers, one winner, and books that add up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.steer import steering
from taskgate.lifecycle import transitions
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.plans import UNPLANNED
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import CancelMode, Owner
from taskgate.testing.conformance import World
from taskgate.testing.factories import stamp

INPUT = {"text": "hello"}


@dataclass(frozen=True)
class Outcomes:
    """What the racers came back with: values and error types."""

    values: list[Any]
    errors: Counter[str]


def race(*racers: Callable[[], Any]) -> Outcomes:
    """Start all at once; gather what each came back with."""
    gate = threading.Barrier(len(racers))

    def run(racer: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return racer()
        except (Refused, TooManyPendingTasks) as error:
            return error

    with ThreadPoolExecutor(len(racers)) as pool:
        done = list(pool.map(run, racers))
    errors = Counter(type(d).__name__ for d in done if isinstance(d, Exception))
    return Outcomes([d for d in done if not isinstance(d, Exception)], errors)


def principal(owner: Owner, max_pending: int = 1000) -> Principal:
    return Principal(owner, SCOPES, max_pending, "key")


def test_fifty_claimers_of_one_task_have_one_winner(world: World) -> None:
    task = world.new(State.QUEUED)
    outcomes = race(*[lambda i=i: world.claim(task, f"w{i}") for i in range(50)])
    assert len(outcomes.values) == 1
    assert outcomes.errors == {"Refused": 49}
    stored = world.ports.tasks.get(task.id)
    assert stored is not None
    assert (stored.attempt, stored.worker) == (1, outcomes.values[0].worker)


@pytest.mark.parametrize("round_", range(10))
def test_a_cancel_against_a_claim_ends_in_one_of_two_pictures(world: World, round_: int) -> None:
    del round_
    task = world.new(State.QUEUED)
    who = principal(world.owner)
    race(
        lambda: world.claim(task),
        lambda: steering.cancel(world.ports, who, task.id, CancelMode.HARD),
    )
    stored = world.ports.tasks.get(task.id)
    assert stored is not None
    books = world.ports.tasks.ledger(world.owner)
    assert books.balanced
    if stored.state is State.CANCELED:
        assert (stored.attempt, books.canceled) == (0, 1)
    else:
        assert (stored.state, stored.attempt, books.active) == (State.CANCELING, 1, {task.id})
        pulse = world.ports.pulses.get(task.id)
        assert pulse is not None
        assert pulse.signal is not None
        assert pulse.signal.kind == "cancel_hard"


@pytest.mark.parametrize("round_", range(10))
def test_a_cancel_against_a_success_never_loses_the_result_or_the_cancel(
    world: World, round_: int
) -> None:
    del round_
    held = world.claim(world.new(State.QUEUED))
    who = principal(world.owner)
    outcomes = race(
        lambda: world.ports.tasks.apply(
            transitions.succeed(held, stamp(world.ports.now()), Outcome())
        ),
        lambda: steering.cancel(world.ports, who, held.id, CancelMode.HARD),
    )
    stored = world.ports.tasks.get(held.id)
    assert stored is not None
    assert stored.state in {State.SUCCEEDED, State.CANCELING}
    assert (stored.state is State.CANCELING) == (outcomes.errors == {"Refused": 1})
    assert world.ports.tasks.ledger(world.owner).balanced


def test_fifty_submits_with_one_idempotency_key_make_one_task(
    ports: Ports, environment: Environment, owner: Owner
) -> None:
    who = principal(owner)
    request = SubmitRequest(type="embed_document", input=INPUT, idempotency_key="once")
    outcomes = race(*[lambda: submitting.submit(ports, CATALOG, environment, who, request)] * 50)
    assert len({s.task.id for s in outcomes.values}) == 1
    assert (len(outcomes.values), sum(not s.replayed for s in outcomes.values)) == (50, 1)
    books = ports.tasks.ledger(owner)
    assert (books.submitted, len(books.active)) == (1, 1)


def test_a_ledger_limit_holds_under_parallel_submits(
    ports: Ports, environment: Environment, owner: Owner
) -> None:
    who = principal(owner, max_pending=5)
    request = SubmitRequest(type="embed_document", input=INPUT)
    outcomes = race(*[lambda: submitting.submit(ports, CATALOG, environment, who, request)] * 20)
    assert len(outcomes.values) == 5
    assert outcomes.errors == {"TooManyPendingTasks": 15}
    assert len(ports.tasks.ledger(owner).active) == 5


def test_a_limit_over_several_shards_holds_under_parallel_submits(
    ports: Ports, environment: Environment, owner: Owner
) -> None:
    who = replace(principal(owner, max_pending=8), plan=replace(UNPLANNED, ledger_shards=4))
    request = SubmitRequest(type="embed_document", input=INPUT)
    outcomes = race(*[lambda: submitting.submit(ports, CATALOG, environment, who, request)] * 20)
    assert set(outcomes.errors) <= {"TooManyPendingTasks"}
    books = ports.tasks.ledger(owner)
    assert (books.submitted, books.balanced) == (len(outcomes.values), True)
    assert len(books.active) <= 8
    # Who comes later finds the places that those who collided may have left.
    while len(ports.tasks.ledger(owner).active) < 8:
        submitting.submit(ports, CATALOG, environment, who, request)
    with pytest.raises(TooManyPendingTasks):
        submitting.submit(ports, CATALOG, environment, who, request)
    assert ports.tasks.pending(owner) == dict.fromkeys(range(4), 2)


def test_twenty_parallel_ends_of_one_user_all_enter_the_ledger(world: World) -> None:
    held = [world.claim(world.new(State.QUEUED)) for _ in range(20)]
    ends = [transitions.succeed(h, stamp(world.ports.now()), Outcome()) for h in held]
    outcomes = race(*[lambda e=e: world.ports.tasks.apply(e) for e in ends])
    assert len(outcomes.values) == 20
    books = world.ports.tasks.ledger(world.owner)
    assert (books.succeeded, books.active, books.balanced) == (20, frozenset(), True)


def test_two_take_overs_of_one_dead_worker_have_one_winner(world: World) -> None:
    held = world.claim(world.new(State.QUEUED))
    later = world.ports.now() + held.limits.lease + 1
    changes = [transitions.take_over(held, stamp(later), f"w{i}") for i in range(10)]
    outcomes = race(*[lambda c=c: world.ports.tasks.apply(c) for c in changes])
    assert (len(outcomes.values), outcomes.errors) == (1, {"Refused": 9})
