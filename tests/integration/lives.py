"""The whole life of a task: one user, one worker after another, the sweep and the outbox each minute.

Whoever dies is replaced, and goes on from what is on record. `Wire` makes one call of it fail.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from taskgate.catalog import CATALOG
from taskgate.errors import LeaseLost, Refused, Unavailable
from taskgate.gateway.door import prioritizing, submitting
from taskgate.gateway.door.chains import Step
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.following import child_id
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.steer import steering
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Failure, Held, Produced, WorkerGateway
from taskgate.lifecycle.duties import ANNOUNCED
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.plans import OPERATOR
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Callback, CancelMode, Duty, Owner, Task
from taskgate.testing.clock import VirtualClock
from taskgate.testing.faults import Crash
from taskgate.webhooks import secrets_for

_LIVES = itertools.count(1)
MOST_ROUNDS: Final = 60
BROKEN: Final = Failure(ErrorCode.MODEL_ERROR, "no", ErrorClass.TRANSIENT)
CANCELED: Final = ("cancel", "salvage")


@dataclass
class Life:
    """One user, one task, one worker after another, and the sweep each minute."""

    ports: Ports
    observer: Ports
    """Sees what is on record; its own calls never fail."""
    clock: VirtualClock
    environment: Environment
    folder: Path
    kind: str

    def __post_init__(self) -> None:
        self.owner = Owner("acme", f"life{next(_LIVES)}")
        self.who = Principal(self.owner, SCOPES, 100, "key", OPERATOR)
        self.task_id = ""
        self.effective: Counter[str] = Counter()
        self.delivered: list[bytes] = []
        self.canceled = False
        self.lanes = {"cpu-normal", "cpu-low"} if self.kind == "priority" else {"cpu-normal"}
        self.first: Task | None = None
        """The soft-cancelled task before the one that may be given its result."""

    def live(self) -> Task:
        """From submit to the end; fails when it does not end. The last task of the life is returned."""
        self._submit("")
        if self.kind == "priority":
            self._surviving(self._prioritize)
        task = self._lived()
        if self.kind == "salvage":
            first, _ = task, self._submit("again")
            task = self._lived()
            self.task_id = first.id
            self.first = self._lived(settled=True)
        return task

    def _lived(self, *, settled: bool = False) -> Task:
        """One round a minute until the task has ended, and owes nothing but what its result may wait."""
        for number in range(MOST_ROUNDS):
            self._surviving(lambda n=number: self._work(f"w{n}"))
            if self.kind in CANCELED and not self.canceled:
                self._surviving(self._cancel)
            self.clock.advance(61)
            self._surviving(self._sweep)
            self._surviving(self._settle)
            task = self._read()
            if task is not None and task.state.ended and self._all_settled(task, settled=settled):
                return task
        raise AssertionError(f"the task did not end: {self._read()}")

    def _submit(self, again: str) -> None:
        """The client tries with the same key until it has an answer."""
        hook = Callback("https://r.example/h", tuple(ANNOUNCED.values()))
        request = SubmitRequest(
            type="embed_document",
            input=self.input(),
            idempotency_key=f"{self.owner}{again}",
            callback=hook if self.kind == "owes" else None,
            then=(Step("embed_document", {"text": "y"}),) if self.kind == "owes" else (),
        )
        for _ in range(4):
            try:
                made = submitting.submit(self.ports, CATALOG, self.environment, self.who, request)
            except (Unavailable, Crash):
                continue
            self.task_id = made.task.id
            return
        raise AssertionError("no answer in four tries")

    def input(self) -> Mapping[str, Any]:
        return {"text": "x"}

    def _work(self, name: str) -> None:
        worker = WorkerGateway(self.ports, CATALOG, self.environment, name, draw=lambda: 0.0)
        for lane in self.environment.lanes:
            if lane not in self.lanes:
                continue
            for delivery in self.ports.lanes.receive(lane, most=10):
                held = worker.claim(delivery)
                if isinstance(held, Held):
                    self._run(worker, held)

    def _run(self, worker: WorkerGateway, held: Held) -> None:
        signal = worker.beat(held, 0.5, "embed")
        if signal is not None:
            self._ended(lambda: worker.stopped(held))
        elif self.kind == "cancel" and not self.canceled:
            self._cancel()
            self._run(worker, held)
        elif self.kind == "salvage" and not self.canceled:
            self._cancel()
            self._succeed(worker, held)
        elif self.kind == "retry" and held.task.budgets.retries.spent == 0:
            self._ended(lambda: worker.fail(held, BROKEN))
        elif self.kind == "drain" and held.task.budgets.interruptions.spent == 0:
            self._ended(lambda: worker.hand_back(held, "half"))
        else:
            self._succeed(worker, held)

    def _succeed(self, worker: WorkerGateway, held: Held) -> None:
        path = self.folder / "out.txt"
        path.write_text(f"attempt {held.task.attempt}")
        self._ended(lambda: worker.succeed(held, [Produced("o", str(path), "text/plain")], "{}"))

    def _ended(self, end: Callable[[], Task]) -> None:
        """As the supervisor does: try again while the store is away, for as long as we hold it."""
        for _ in range(3):
            try:
                ended = end()
                self.effective[ended.id] += ended.state is State.SUCCEEDED
            except Unavailable:
                continue
            except Refused:
                return
            return

    def _cancel(self) -> None:
        if self.task_id:
            mode = CancelMode.SOFT if self.kind == "salvage" else CancelMode.HARD
            steering.cancel(self.ports, self.who, self.task_id, mode)
            self.canceled = True

    def _prioritize(self) -> None:
        prioritizing.prioritize(self.ports, self.who, self.task_id, "low")

    def _sweep(self) -> None:
        sweeping.sweep_shard(self.ports, 0, self.clock() + 50_000)

    def _settle(self) -> None:
        """The outbox's backstop, with every errand run at once."""
        outbox = Outbox(
            ports=replace(self.ports, errands=self),
            catalog=CATALOG,
            environment=self.environment,
            courier=self._deliver,
            secrets=lambda tenant: secrets_for(bytes(32), tenant, [1]),
            sleep=self.clock.advance,
        )
        self.errands: list[str] = []
        outbox.errands_due([0], self.clock() + 50_000)
        for task_id in self.errands:
            outbox.settle(task_id)

    def send(self, task_id: str, delay: int, news: str | None = None) -> None:
        del delay, news
        self.errands.append(task_id)

    def _deliver(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        del url, headers
        self.delivered.append(body)
        return Attempt(200, Reason.OK, 1)

    def _all_settled(self, task: Task, *, settled: bool) -> bool:
        children = [self.observer.tasks.get(child_id(task.id, i)) for i in range(task.follow_ups)]
        owed = set(task.owes) - (set() if settled else {Duty.SALVAGE})
        return not owed and all(c is not None and c.state.ended for c in children)

    def _surviving(self, act: Callable[[], None]) -> None:
        """Whoever dies is replaced: the next one starts from what is on record."""
        try:
            act()
        except (Crash, Unavailable, LeaseLost):
            return

    def _read(self) -> Task | None:
        return self.observer.tasks.get(self.task_id)


def drain(ports: Ports) -> None:
    """What is left in the lane belongs to no later life: hidden messages too, which would come back
    in the middle of one and shift the numbers of its calls. (The emulator purges as often as asked.)
    """
    lanes: Any = ports.lanes
    for lane in ("cpu-normal", "cpu-low"):
        lanes._client.purge_queue(QueueUrl=lanes._urls[lane])
