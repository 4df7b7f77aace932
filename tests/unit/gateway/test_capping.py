"""Never more run than the cap says, and nothing that died holds a place (cases B107 to B110)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from taskgate.catalog import CATALOG as SERVED
from taskgate.catalog import Catalog
from taskgate.errors import BadSetting, Refused, Unavailable
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.gateway.steer import steering
from taskgate.gateway.work.claiming import Held, Released
from taskgate.gateway.work.worker import Failure, WorkerGateway
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import HELD
from taskgate.plans import OPERATOR
from taskgate.ports import Message
from taskgate.principal import SCOPES, Principal
from taskgate.slots import MOST_SLOTS, Slot
from taskgate.task import CancelMode, Owner, Task
from taskgate.testing.memory import MemoryWorld
from tests.unit.functions.api_world import ENVIRONMENT
from tests.unit.gateway.test_sweeping import sweep_for

LANE = "cpu-normal"
KEY = "SLOTS#tenant#acme"
PLAN = replace(OPERATOR, submits_per_minute=None, max_processing=2)
ADA = Principal(Owner("acme", "ada"), SCOPES, 100_000, "k", PLAN)
EVE = Principal(Owner("other", "eve"), SCOPES, 100_000, "k", PLAN)
NO_USE = Failure(ErrorCode.INVALID_INPUT, "no", ErrorClass.PERMANENT)


class House:
    """A world with some workers."""

    def __init__(self, catalog: Catalog = SERVED, workers: int = 6) -> None:
        self.world, self.catalog = MemoryWorld(), catalog
        self.workers = [
            WorkerGateway(self.world.ports, catalog, ENVIRONMENT, f"w{n}", draw=lambda: 0.5)
            for n in range(workers)
        ]

    def restart(self) -> None:
        """All workers die, and others come in their place: they know of nothing."""
        self.workers = [
            WorkerGateway(self.world.ports, self.catalog, ENVIRONMENT, f"new{n}", draw=lambda: 0.5)
            for n in range(len(self.workers))
        ]

    def submit(self, who: Principal = ADA) -> Task:
        request = SubmitRequest(type="embed_document", input={"text": "x"})
        return submit(self.world.ports, self.catalog, ENVIRONMENT, who, request).task

    def claim(self, worker: int = 0) -> Held | Released | None:
        for delivery in self.world.lanes.receive(LANE):
            return self.workers[worker].claim(delivery)
        return None

    def claim_all(self) -> list[Held]:
        """Every worker looks at every message that is visible."""
        found, worker = [], 0
        while (outcome := self.claim(worker % len(self.workers))) is not None:
            worker += 1
            if isinstance(outcome, Held):
                found.append(outcome)
        return found

    def running(self, tenant: str = "acme") -> int:
        tasks = self.world.tasks.tasks.values()
        return sum(t.state in HELD and t.owner.tenant == tenant for t in tasks)


def _later(house: House, seconds: int = 20) -> None:
    house.world.clock.advance(seconds)


def test_no_more_of_a_tenant_run_than_its_plan_allows_and_others_are_not_held_up() -> None:
    house = House()
    for _ in range(6):
        house.submit()
    other = house.submit(EVE)
    held = house.claim_all()
    assert house.running() == 2
    assert other.id in {h.task.id for h in held}


def test_a_place_is_free_as_soon_as_its_task_has_ended_though_nobody_gave_it_back() -> None:
    house = House()
    for _ in range(3):
        house.submit()
    first, _ = house.claim_all()
    house.workers[0].fail(first, NO_USE)
    _later(house, 2)
    assert len(house.claim_all()) == 1
    assert house.running() == 2


def test_a_killed_holder_keeps_no_place_beyond_its_lease_the_grace_and_the_sweeps() -> None:
    house = House()
    one_place = replace(ADA, plan=replace(PLAN, max_processing=1))
    for _ in range(2):
        house.submit(one_place)
    (killed,) = house.claim_all()
    assert house.claim_all() == []
    sweep_for(house.world, 4 * 60)
    (started,) = house.claim_all()
    assert house.running() == 1
    assert (started.task.id, started.task.attempt) != (killed.task.id, killed.task.attempt)


def test_canceling_what_waits_frees_no_place() -> None:
    house = House()
    tasks = [house.submit() for _ in range(8)]
    held = {h.task.id for h in house.claim_all()}
    for task in tasks:
        if task.id not in held:
            steering.cancel(house.world.ports, ADA, task.id, CancelMode.HARD, "")
    house.submit()
    _later(house)
    assert house.claim_all() == []
    assert house.running() == 2


def test_workers_that_start_anew_take_nothing_beyond_the_cap() -> None:
    house = House()
    tasks = [house.submit() for _ in range(7)]
    held = {h.task.id for h in house.claim_all()}
    for task in [task for task in tasks if task.id not in held]:
        steering.cancel(house.world.ports, ADA, task.id, CancelMode.HARD, "")
    for _ in range(5):
        house.submit()
    house.restart()
    seen = set[str]()
    for _ in range(20):
        seen |= {h.task.id for h in house.claim_all()}
        assert house.running() <= 2
        sweep_for(house.world, 30, 30)
    assert seen


def test_a_second_message_of_a_running_task_takes_no_second_place_and_loses_none() -> None:
    house = House()
    task = house.submit()
    (held,) = house.claim_all()
    house.world.lanes.send(LANE, Message.of(task))
    house.claim_all()
    assert set(house.world.slots.held[KEY]) == {held.task.id}
    for _ in range(3):
        house.submit()
    _later(house, 2)
    house.claim_all()
    assert house.running() == 2


def test_a_message_whose_task_has_ended_gives_its_place_back_at_once() -> None:
    house = House()
    task = house.submit()
    steering.cancel(house.world.ports, ADA, task.id, CancelMode.HARD, "")
    assert house.claim_all() == []
    assert house.world.slots.held[KEY] == {}


def test_a_place_taken_by_a_worker_that_died_before_its_claim_is_free_after_a_lease() -> None:
    house = House()
    house.submit()
    for number in range(2):
        slot = Slot(1, house.world.clock())
        house.world.slots.take(KEY, f"task_never_{number}", slot, 2)
    assert house.claim_all() == []
    _later(house, ENVIRONMENT.lease + 1)
    assert len(house.claim_all()) == 1


def test_a_place_that_was_just_taken_is_not_pulled_away_before_its_claim() -> None:
    house = House()
    waiting = house.submit()
    house.world.slots.take(KEY, "task_a", Slot(1, house.world.clock()), 2)
    house.world.slots.take(KEY, "task_b", Slot(1, house.world.clock()), 2)
    assert house.claim_all() == []
    assert set(house.world.slots.held[KEY]) == {"task_a", "task_b"}
    assert house.world.tasks.tasks[waiting.id].attempt == 0


def test_what_is_put_back_is_never_dead_lettered_for_its_patience() -> None:
    house = House()
    for _ in range(3):
        house.submit()
    house.claim_all()
    most = 0
    for _ in range(60):
        _later(house, 17)
        for delivery in house.world.lanes.receive(LANE):
            most = max(most, delivery.receives)
            house.workers[0].claim(delivery)
    assert 0 < most <= 5


def test_a_type_has_a_cap_over_all_tenants() -> None:
    types = [replace(t, max_processing=1) for t in SERVED if t.name == "embed_document"]
    house = House(Catalog(types))
    house.submit()
    house.submit(EVE)
    (held,) = house.claim_all()
    # The place of the tenant that was not used is free again.
    assert sum(len(h) for key, h in house.world.slots.held.items() if "tenant" in key) == 1
    house.workers[0].fail(held, NO_USE)
    _later(house)
    assert len(house.claim_all()) == 1


def test_a_cap_of_a_type_out_of_bounds_cannot_be_made() -> None:
    (kind,) = (t for t in SERVED if t.name == "embed_document")
    for most in (0, MOST_SLOTS + 1):
        with pytest.raises(BadSetting):
            replace(kind, max_processing=most)


def test_a_slot_that_could_not_be_given_back_is_no_reason_to_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House()
    task = house.submit()
    steering.cancel(house.world.ports, ADA, task.id, CancelMode.HARD, "")

    def away(*_: Any) -> bool:
        raise Unavailable

    monkeypatch.setattr(house.world.slots, "free", away)
    assert house.claim_all() == []


@pytest.mark.parametrize("seed", range(3))
def test_in_three_thousand_random_acts_the_cap_is_never_passed_and_at_rest_no_place_is_held(
    seed: int,
) -> None:
    house, draw = House(), random.Random(seed)
    held: list[tuple[int, Held]] = []
    for _ in range(1000):
        for act in draw.choices(("submit", "claim", "end", "kill", "cancel", "wait"), k=3):
            _act(house, draw, held, act)
            assert house.running() <= 2
    _settled(house)
    assert house.world.tasks.ledger(ADA.owner).active == frozenset()
    for _ in range(3):
        house.submit()
    _later(house, 60)
    assert len(house.claim_all()) == 2, "one place that leaked would show"
    assert len(house.world.slots.held[KEY]) == 2


def _act(house: House, draw: random.Random, held: list[tuple[int, Held]], act: str) -> None:
    worker = draw.randrange(len(house.workers))
    match act:
        case "submit":
            house.submit()
        case "claim":
            outcome = house.claim(worker)
            if isinstance(outcome, Held):
                held.append((worker, outcome))
        case "end" if held:
            holder, mine = held.pop(draw.randrange(len(held)))
            _ended(house, holder, mine)
        case "kill" if held:
            held.pop(draw.randrange(len(held)))
        case "cancel":
            task_id = draw.choice(list(house.world.tasks.tasks) or [house.submit().id])
            if not house.world.state(task_id).ended:
                steering.cancel(house.world.ports, ADA, task_id, CancelMode.HARD, "")
        case "wait":
            seconds = draw.choice((5, 30, 90))
            sweep_for(house.world, seconds, seconds)


def _ended(house: House, holder: int, mine: Held) -> None:
    try:
        house.workers[holder].fail(mine, NO_USE)
    except Refused:
        return


def _settled(house: House) -> None:
    """Everything that lives ends: by a cancel and, where a worker is silent, by the sweep."""
    for task in list(house.world.tasks.tasks.values()):
        if not task.state.ended:
            steering.cancel(house.world.ports, ADA, task.id, CancelMode.HARD, "")
    sweep_for(house.world, 10 * 60)
    assert house.running() == 0
