"""The answer to a dead letter, with a fault at every single AWS call in turn.

Whatever fails, the queue delivers the letter again. In the end the letter is kept, the task has had
its one fresh message and waits for it, and only a second letter ends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import pytest

from taskgate.aws.archive import S3Archive
from taskgate.aws.ports import build
from taskgate.errors import Unavailable
from taskgate.gateway.office import dead_letters
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.lifecycle.letters import LetterStep
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Message, Ports
from taskgate.settings import Environment
from taskgate.task import Task
from taskgate.testing.conformance import World
from taskgate.testing.faults import Crash, Fault, Wire

_LETTERS = itertools.count(1)
MOST_DELIVERIES = 4
FAULTS = [fault for fault in Fault if fault is not Fault.CONFLICT]


@pytest.fixture(autouse=True)
def _no_waiting_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def tapped(environment: Environment) -> Iterator[Ports]:
    """Ports of their own, so that only their calls fail."""
    ports = build(environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


def delivered(ports: Ports, archive: S3Archive, task: Task, name: str) -> str:
    """The letter, again and again until it is answered, as its queue does."""
    letter = DeadLetter(id=name, lane=task.lane, body="{}", receives=10, sent_at=1_790_000_000_000)
    for _ in range(MOST_DELIVERIES):
        with suppress(Unavailable, Crash):
            return dead_letters.answer(ports, archive, letter, Message(task.id, 0))
    raise AssertionError("never answered")


def is_kept(world: World, task: Task, name: str) -> bool:
    key = f"dead/{task.lane}/2026-09-21/{name}.json"
    return bool(world.ports.results.read(key, 10))


@pytest.mark.parametrize("state", [State.CREATED, State.QUEUED])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_call_loses_no_letter_and_spends_the_fresh_message_once(
    fault: Fault, state: State, world: World, tapped: Ports, environment: Environment
) -> None:
    wire, points = Wire(), 0
    archive = S3Archive(tapped.results._client, environment.results_bucket)  # type: ignore[attr-defined]
    wire.tap(tapped)
    for at in itertools.count():
        task, first, second = world.new(state), f"a{next(_LETTERS)}", f"b{next(_LETTERS)}"
        wire.arm(at, fault)
        delivered(tapped, archive, task, first)
        fired = wire.fired
        wire.arm(-1, fault)
        where = f"{fault} at call {at}"
        after = world.ports.tasks.get(task.id)
        assert after is not None
        assert (after.state, after.resent_for) == (State.QUEUED, first), where
        assert is_kept(world, task, first), where
        assert delivered(tapped, archive, task, second) == LetterStep.BURY, where
        ended = world.ports.tasks.get(task.id)
        assert ended is not None
        assert ended.error is not None
        assert (ended.state, ended.error.code) == (State.FAILED, ErrorCode.POISON), where
        if not fired:
            break
        points += 1
    books = world.ports.tasks.ledger(world.owner)
    assert (books.active, books.failed) == (frozenset(), books.submitted)
    print(f"dead letters, {state}, {fault}: {points} points, all green")  # noqa: T201
    assert points >= 4
