"""A whole Taskgate on a virtual clock, with everything going wrong by a seed.

Hundreds of tasks, flaky stores, workers that die, freeze, drain and run on skewed clocks, messages
shown twice and late, sweeps that overlap or stay away. The verbs are the real gateway's, over the
in-memory ports. The same seed plays the same world, step for step.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

from taskgate.catalog import CATALOG
from taskgate.errors import (
    IntakePaused,
    InvalidInput,
    LeaseLost,
    Problem,
    Refused,
    Unavailable,
)
from taskgate.gateway.door import submitting
from taskgate.gateway.door.chains import Step
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.steer import operating, steering
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.work.worker import Failure, Held, WorkerGateway
from taskgate.lifecycle.duties import ANNOUNCED
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.plans import UNPLANNED
from taskgate.ports import Message, Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Callback, CancelMode, Owner, Task
from taskgate.testing.faults import Crash
from taskgate.testing.memory import MemoryWorld
from taskgate.webhooks import secrets_for
from tests.simulation.meddling import Meddlers

ENVIRONMENT: Final = Environment(
    stage="local",
    tasks_table="t",
    ephemeral_table="e",
    results_bucket="r",
    lanes={},
    clock_shards=4,
    beat=15,
    lease=45,
    send_check=30,
    stall_grace=60,
    cancel_grace=30,
)
LANES: Final = ("cpu-high", "cpu-normal", "cpu-low")
LONGEST_LIFE: Final = 120 * 3600
IDLE_AFTER: Final = 3 * 3600
"""Seconds after which workers that find all lanes empty look into them less often."""
MASTER: Final = bytes(range(32))
MODEL: Final = Failure(ErrorCode.MODEL_ERROR, "no", ErrorClass.TRANSIENT)
INPUT: Final = Failure(ErrorCode.INVALID_INPUT, "no", ErrorClass.PERMANENT)
CHILD: Final = Failure(ErrorCode.WORKER_CRASHED, "signal 11", ErrorClass.CRASH)
LATE: Final = Failure(ErrorCode.RUN_TIMEOUT, "late", ErrorClass.PERMANENT)


@dataclass(frozen=True)
class Odds:
    """How often things go wrong, per call or per beat."""

    call_lost: float = 0.01
    answer_lost: float = 0.01
    crash: float = 0.003
    duplicate: float = 0.03
    late: float = 0.05
    death: float = 0.02
    freeze: float = 0.03
    drain: float = 0.02
    cancel: float = 0.1
    callback_fails: float = 0.3
    priority: float = 0.15
    upload: float = 0.1
    vanish: float = 0.4
    switch: float = 0.02
    bulk: float = 0.04
    sweep_missed: float = 0.1
    sweep_twice: float = 0.1


class Flaky:
    """A port whose calls fail before or after they took effect, or kill the caller."""

    def __init__(self, port: Any, rng: random.Random, odds: Odds, after: Callable[..., None]):
        self._port, self._rng, self._odds, self._after = port, rng, odds, after

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            roll, odds = self._rng.random(), self._odds
            if roll < odds.call_lost:
                raise Unavailable
            value = real(*args, **kwargs)
            self._after(name, args, value)
            if roll > 1 - odds.answer_lost:
                raise Unavailable
            if self._rng.random() < odds.crash:
                raise Crash
            return value

        return call


@dataclass
class Machine:
    """One worker process: at most one task, a clock of its own."""

    name: str
    gateway: WorkerGateway
    held: Held | None = None
    ends_at: int = 0
    plan: str = ""
    frozen_until: int = 0


@dataclass
class Simulation:
    """`run` plays the seed to its end and returns what happened."""

    seed: int
    tasks: int = 200
    workers: int = 10
    odds: Odds = field(default_factory=Odds)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.world = MemoryWorld(clock_shards=ENVIRONMENT.clock_shards)
        self.clock = self.world.clock
        self.start = self.clock()
        self.accepted: dict[str, Task] = {}
        self.happened: Counter[str] = Counter()
        self.successes: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.meddlers = Meddlers(self)
        self._coming = 0
        """Submits that are not answered yet: the intake is paused, and they come back."""
        self._done: set[str] = set()
        self._open = ""
        """A task that was not settled when we last looked: as a rule it still is not."""
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order, self._names = itertools.count(), itertools.count(1)
        self.ports, self.switches = self._flaky(0), KnownSwitches()
        self.outbox = Outbox(
            ports=self.ports,
            catalog=CATALOG,
            environment=ENVIRONMENT,
            courier=self._deliver,
            secrets=lambda tenant: secrets_for(MASTER, tenant, [1]),
            draw=self.rng.random,
            sleep=lambda _: None,
        )

    def run(self) -> Simulation:
        """From the first submit until every accepted task has ended and the lanes are empty."""
        with (
            patch("taskgate.gateway.door.submitting.new_task_id", self._new_id),
            patch("taskgate.gateway.office.bulk.new_task_id", self._new_id),
        ):
            return self._play()

    def _new_id(self, now: int) -> str:
        """Ids by the seed: they decide the shards, and so the order of the sweep."""
        return f"task_{now:013d}{self.rng.randrange(10**13):013d}"

    def _play(self) -> Simulation:
        for _ in range(self.tasks):
            self.at(self.rng.uniform(0, 900), self._submit)
        for _ in range(self.workers):
            self._boot()
        self.at(60, self._sweep)
        self.at(60, self._backstop)
        while self._heap and self.clock() < self.start + LONGEST_LIFE * 1000:
            at, _, act = heapq.heappop(self._heap)
            self.clock.advance_to(at)
            act()
            if self._settled():
                break
        return self

    @property
    def lost(self) -> list[Task]:
        """Accepted tasks that did not end."""
        return [t for i in self.accepted if not (t := self.world.tasks.tasks[i]).state.ended]

    @property
    def doubled(self) -> list[str]:
        """Tasks of which more than one attempt's result counted."""
        return [task_id for task_id, count in self.successes.items() if count > 1]

    def by_state(self) -> Counter[str]:
        return Counter(self.world.tasks.tasks[i].state.value for i in self.accepted)

    # ---- clients ------------------------------------------------------------------------------

    def _submit(self) -> None:
        who = self._somebody()
        key = f"key{next(self._names)}"
        hook = Callback(f"https://r{self.rng.randint(1, 3)}.example/h", tuple(ANNOUNCED.values()))
        upload = self.rng.random() < self.odds.upload
        request = SubmitRequest(
            type="embed_document",
            input=self.meddlers.upload(who) if upload else {"text": "x"},
            priority=self.rng.choice(("high", "normal", "low")),
            idempotency_key=key,
            # Some do not wait for long, so that a wait too long and a pause meet.
            timeouts={"queue_seconds": 180} if int(key[3:]) % 10 == 0 else {},
            callback=hook if self.rng.random() < 0.4 else None,
            then=(Step("embed_document", {"text": "y"}),) if self.rng.random() < 0.1 else (),
        )
        self._coming += 1
        self._submit_until_answered(who, request)

    def _submit_until_answered(self, who: Principal, request: SubmitRequest) -> None:
        for _ in range(8):
            try:
                made = submitting.submit(
                    self.ports, CATALOG, ENVIRONMENT, who, request, switches=self.switches
                )
            except (Unavailable, Crash):
                self.happened["submit tried again"] += 1
                continue
            except IntakePaused as paused:
                self.happened["submit came back later"] += 1
                wait = paused.retry_after or 60
                return self.at(wait, lambda: self._submit_until_answered(who, request))
            except InvalidInput:
                self.happened["submit of a vanished upload"] += 1
                break
            self._accepted(who, made.task)
            break
        self._coming -= 1
        return None

    def _accepted(self, who: Principal, task: Task) -> None:
        self.accepted[task.id] = task
        self.happened["submit reused"] += task.reused_from is not None
        if self.rng.random() < self.odds.cancel:
            self._cancel_later(who, task.id)
        if self.rng.random() < self.odds.priority:
            self.meddlers.prioritize_later(who, task.id)

    def _cancel_later(self, who: Principal, task_id: str) -> None:
        mode = self.rng.choice(list(CancelMode))
        self.at(self.rng.uniform(0, 200), lambda: self._cancel(who, task_id, mode))

    def _cancel(self, who: Principal, task_id: str, mode: CancelMode) -> None:
        try:
            steering.cancel(self.ports, who, task_id, mode)
        except (Unavailable, Crash):
            self.at(1, lambda: self._cancel(who, task_id, mode))
        self.happened["cancel"] += 1

    def _nudge(self) -> None:
        """An operator meddles: recovers a suspect, or gives a failed task another life."""
        live = [t for t in self.accepted if self.rng.random() < 0.02]
        for task_id in live:
            task = self.world.tasks.tasks[task_id]
            who = Principal(task.owner, SCOPES, 10_000, "k")
            try:
                if task.state is State.STALLED:
                    operating.recover(self.ports, who, task_id)
                    self.happened["recover"] += 1
                elif task.state is State.PROCESSING and self.rng.random() < 0.3:
                    operating.extend(self.ports, who, task_id, 60)
                    self.happened["extend"] += 1
            except (Unavailable, Crash, Problem, Refused):
                continue

    # ---- the sweep ----------------------------------------------------------------------------

    def _sweep(self) -> None:
        self.at(60, self._sweep)
        self._nudge()
        self.meddlers.minute()
        if self.rng.random() < self.odds.sweep_missed:
            self.happened["sweep missed"] += 1
            return
        for _ in range(2 if self.rng.random() < self.odds.sweep_twice else 1):
            try:
                switches = KnownSwitches().now(self.ports)
                for shard in range(ENVIRONMENT.clock_shards):
                    sweeping.sweep_shard(self.ports, shard, self.clock() + 50_000, switches)
            except Crash:
                self.happened["sweep died"] += 1
            else:
                self.meddlers.work()

    # ---- the outbox ---------------------------------------------------------------------------

    def send(self, task_id: str, delay: int, news: str | None = None) -> None:
        """The queue of errands: now and then one is lost, which the backstop makes good."""
        if news is None and self.rng.random() > 0.05:
            self.at(delay, lambda: self._settle(task_id))

    def _backstop(self) -> None:
        self.at(60, self._backstop)
        try:
            self.outbox.errands_due(range(ENVIRONMENT.clock_shards), self.clock() + 50_000)
        except (Unavailable, Crash):
            self.happened["backstop died"] += 1

    def _settle(self, task_id: str) -> None:
        try:
            self.happened[f"outbox {self.outbox.settle(task_id)}"] += 1
        except (Unavailable, Crash):
            self.happened["outbox died"] += 1

    def _deliver(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        del url, body
        if self.rng.random() < self.odds.callback_fails:
            return Attempt(503, Reason.SERVER_ERROR, 5)
        self.delivered[headers["webhook-id"]] += 1
        return Attempt(200, Reason.OK, 5)

    # ---- workers ------------------------------------------------------------------------------

    def _boot(self) -> None:
        name = f"w{next(self._names)}"
        skew = self.rng.randint(-4_000, 4_000)
        gateway = WorkerGateway(self._flaky(skew), CATALOG, ENVIRONMENT, name, draw=self.rng.random)
        machine = Machine(name, gateway)
        self.at(self.rng.uniform(0, 5), lambda: self._step(machine))

    def _step(self, machine: Machine) -> None:
        """One turn of a worker; whatever kills it, another is booted in its place."""
        try:
            wait = self._turn(machine)
        except Crash:
            self.happened["worker died"] += 1
            self.at(self.rng.uniform(1, 30), self._boot)
            return
        self.at(wait, lambda: self._step(machine))

    def _turn(self, machine: Machine) -> float:
        if machine.frozen_until > self.clock():
            return (machine.frozen_until - self.clock()) / 1000
        if machine.held is None:
            return self._poll(machine)
        roll = self.rng.random()
        if roll < self.odds.death:
            raise Crash
        if roll < self.odds.death + self.odds.freeze:
            self.happened["worker froze"] += 1
            machine.frozen_until = self.clock() + self.rng.randint(20_000, 300_000)
            return 0
        if self.clock() >= machine.ends_at:
            return self._finish(machine)
        return self._beat(machine)

    def _poll(self, machine: Machine) -> float:
        lanes = self.rng.sample(LANES, len(LANES))
        for lane in lanes:
            if machine.gateway.paused(lane):
                continue
            try:
                found = self.world.lanes.receive(lane)
                if not found:
                    continue
                held = machine.gateway.claim(found[0])
            except Unavailable:
                return 2
            if isinstance(held, Held):
                machine.held = held
                machine.plan = self._plan()
                machine.ends_at = self.clock() + self.rng.randint(1_000, 120_000)
                return 1
            return 0
        return self.rng.uniform(1, 4) * self._idling()

    def _idling(self) -> int:
        """How much longer a worker rests: hours after the last task callbacks may still be owed."""
        late = self.clock() > self.start + IDLE_AFTER * 1000
        return 20 if late and not self.world.lanes.total() else 1

    def _plan(self) -> str:
        names = ("succeed", "model", "input", "child", "hang", "snooze")
        return self.rng.choices(names, (75, 10, 3, 5, 3, 4))[0]

    def _beat(self, machine: Machine) -> float:
        held = machine.held
        assert held is not None
        try:
            signal = machine.gateway.beat(held, self.rng.random(), "run")
        except (LeaseLost, Unavailable) as error:
            if isinstance(error, LeaseLost):
                machine.held = None
            return 5
        if signal and signal.kind == "lost":
            self.happened["worker learned that it lost"] += 1
            machine.held = None
        elif signal and signal.kind == "cancel_hard":
            machine.plan, machine.ends_at = "stop", self.clock()
        elif self.rng.random() < self.odds.drain:
            machine.plan, machine.ends_at = "drain", self.clock()
        elif machine.plan == "hang" and self.clock() >= held.task.run_ends_at:
            machine.plan, machine.ends_at = "late", self.clock()
        elif machine.plan == "hang":
            machine.ends_at = self.clock() + 60_000
        return 15 if self.clock() < machine.ends_at else 0

    def _finish(self, machine: Machine) -> float:
        """End the attempt; while the store is away, beat and try again."""
        held, gateway = machine.held, machine.gateway
        assert held is not None
        if machine.plan == "hang":
            return self._beat(machine)
        ends: dict[str, Callable[[], Task]] = {
            "succeed": lambda: self._succeed(gateway, held),
            "model": lambda: gateway.fail(held, MODEL),
            "input": lambda: gateway.fail(held, INPUT),
            "child": lambda: gateway.fail(held, CHILD),
            "late": lambda: gateway.fail(held, LATE),
            "drain": lambda: gateway.hand_back(held, "half"),
            "snooze": lambda: gateway.snooze(held, 20),
            "stop": lambda: gateway.stopped(held),
        }
        try:
            ends[machine.plan]()
        except Unavailable:
            return 3
        except Refused as refused:
            current = refused.current
            canceling = current is not None and current.state is State.CANCELING
            if canceling and machine.plan != "stop":
                machine.plan = "stop"
                return 0
            self.happened["end refused"] += 1
        machine.held = None
        return 0

    def _succeed(self, gateway: WorkerGateway, held: Held) -> Task:
        upload = json.loads(held.input or "{}").get("document")
        if upload:
            try:
                gateway.files(held).upload(upload["upload"], os.devnull)
            except InvalidInput:
                self.happened["upload vanished"] += 1
                return gateway.fail(held, INPUT)
        return gateway.succeed(held, [], "{}")

    # ---- the rest -----------------------------------------------------------------------------

    def _flaky(self, skew: int) -> Ports:
        def wrap(port: Any) -> Any:
            return Flaky(port, self.rng, self.odds, self._seen)

        ports = self.world.ports
        return replace(
            ports,
            tasks=wrap(ports.tasks),
            pulses=wrap(ports.pulses),
            rates=wrap(ports.rates),
            lanes=wrap(ports.lanes),
            results=wrap(ports.results),
            switches=wrap(ports.switches),
            bulks=wrap(ports.bulks),
            errands=self,
            now=lambda: self.clock() + skew,
        )

    def _seen(self, name: str, args: tuple[Any, ...], value: Any) -> None:
        """What really took effect, whatever its caller learned of it."""
        if name == "apply":
            self.happened[f"{args[0].verb or 'rearm'}"] += 1
            self.meddlers.saw(args[0])
            if args[0].verb is Verb.SUCCEED:
                self._count_success(args[0].task_id, args[0].stamp.op_id)
        if name == "send" and self.rng.random() < self.odds.duplicate:
            self.happened["message doubled"] += 1
            delay = self.rng.choice((0, 0, 30, 600))
            self.world.lanes.send(args[0], args[1], delay)
        if name == "send" and self.rng.random() < self.odds.late:
            self._make_late(args[0], args[1])
        del value

    def _count_success(self, task_id: str, op_id: str) -> None:
        if op_id not in self._done:
            self._done.add(op_id)
            self.successes[task_id] += 1

    def _make_late(self, lane: str, message: Message) -> None:
        self.happened["message late"] += 1
        for stored in self.world.lanes.queues.get(lane, []):
            if stored.message == message:
                stored.visible_at += 40_000

    def _somebody(self) -> Principal:
        owner = Owner("acme", f"user{self.rng.randint(1, 5)}")
        # Operators change the plan while everything runs: one shard of books, three, two.
        plan = replace(UNPLANNED, ledger_shards=(1, 3, 2)[len(self.accepted) * 3 // self.tasks % 3])
        return Principal(owner, SCOPES, 10_000, "k", plan)

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        at = self.clock() + round(max(seconds, 0.001) * 1000)
        heapq.heappush(self._heap, (at, next(self._order), act))

    def _settled(self) -> bool:
        if self.clock() < self.start + 901_000 or self.world.lanes.total() or self._coming:
            return False
        tasks = self.world.tasks.tasks
        if self._open and not _at_rest(tasks[self._open]):
            return False
        self._open = next((i for i, task in tasks.items() if not _at_rest(task)), "")
        return not self._open


def _at_rest(task: Task) -> bool:
    return task.state.ended and not task.owes
