"""Ten thousand random acts, and the books balance at every look and at rest."""

from __future__ import annotations

import random
from collections.abc import Callable

from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.office import dead_letters
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.gateway.steer import operating, steering
from taskgate.gateway.work.worker import Failure, Held
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import CancelMode
from taskgate.testing.factories import OWNER
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.audit import MemoryArchive
from tests.unit.gateway.test_reconciling import check
from tests.unit.gateway.test_sweeping import sweep, sweep_for
from tests.unit.gateway.test_worker_gateway import CATALOG, ENVIRONMENT, LANE, WHO, gateway


class Chaos:
    """One random act after another: submit, claim, cancel, fail, succeed, kill, expire, reopen."""

    def __init__(self, world: MemoryWorld, seed: int) -> None:
        self.world, self.rng = world, random.Random(seed)
        self.held: list[Held] = []
        self.ids: list[str] = []
        self.done: list[str] = []
        self.acts: list[Callable[[], None]] = [
            self.submit, self.submit, self.claim, self.claim, self.cancel, self.fail,
            self.succeed, self.beat, self.kill, self.expire, self.reopen, self.dead_letter,
        ]  # fmt: skip

    def act(self) -> None:
        self.world.clock.advance(self.rng.uniform(0, 3))
        chosen = self.rng.choice(self.acts)
        self.done.append(chosen.__name__)
        try:
            chosen()
        except (Refused, TooManyPendingTasks):
            self.done.append("refused")

    def submit(self) -> None:
        request = SubmitRequest(type="embed_document", input={"text": "hello"})
        made = submitting.submit(self.world.ports, CATALOG, ENVIRONMENT, WHO, request)
        self.ids.append(made.task.id)

    def claim(self) -> None:
        for delivery in self.world.lanes.receive(LANE):
            held = gateway(self.world, f"w{self.rng.randrange(3)}").claim(delivery)
            if isinstance(held, Held):
                self.held.append(held)

    def cancel(self) -> None:
        if self.ids:
            mode = self.rng.choice(list(CancelMode))
            steering.cancel(self.world.ports, WHO, self.rng.choice(self.ids), mode)

    def fail(self) -> None:
        if self.held:
            code, kind = self.rng.choice(
                [
                    (ErrorCode.MODEL_ERROR, ErrorClass.TRANSIENT),
                    (ErrorCode.INVALID_INPUT, ErrorClass.PERMANENT),
                    (ErrorCode.WORKER_CRASHED, ErrorClass.CRASH),
                ]
            )
            gateway(self.world).fail(self._any(), Failure(code, "no", kind))

    def succeed(self) -> None:
        if self.held:
            gateway(self.world).succeed(self._any(), [], None)

    def beat(self) -> None:
        for held in self.held:
            gateway(self.world).beat(held, 0.5, "")

    def kill(self) -> None:
        """A worker is gone: nobody speaks for its attempt again."""
        if self.held:
            self._any()

    def expire(self) -> None:
        self.world.clock.advance(self.rng.choice([30, 60, 600]))
        sweep(self.world)

    def reopen(self) -> None:
        bad = [i for i in self.ids if self.world.state(i) in (State.FAILED, State.TIMED_OUT)]
        if bad:
            operating.reopen(self.world.ports, CATALOG, WHO, self.rng.choice(bad))

    def dead_letter(self) -> None:
        for delivery in self.world.lanes.receive(LANE):
            self.world.lanes.delete(delivery)
            found = DeadLetter(
                id=delivery.receipt, lane=LANE, body="", receives=10, sent_at=self.world.clock()
            )
            dead_letters.answer(self.world.ports, MemoryArchive(), found, delivery.message)

    def _any(self) -> Held:
        return self.held.pop(self.rng.randrange(len(self.held)))


def test_ten_thousand_random_acts_leave_the_books_balanced_and_nothing_active_at_rest() -> None:
    world = MemoryWorld()
    chaos = Chaos(world, seed=1)
    for number in range(10_000):
        chaos.act()
        if number % 500 == 0:
            assert check(world).differences == []
    for _ in range(30):
        sweep_for(world, 26 * 3600, period=3600)
        if not world.tasks.ledger(OWNER).active:
            break
    books = world.tasks.ledger(OWNER)
    assert set(chaos.done) >= {act.__name__ for act in chaos.acts}
    assert (books.active, books.submitted) == (frozenset(), books.ended)
    assert books.submitted > 1000
    assert check(world).differences == []
