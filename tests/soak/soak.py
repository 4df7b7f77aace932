"""The real local stack under load, its workers killed at random; then every task is counted.

``python -m tests.soak.soak --seconds 120`` (``make soak SECONDS=120``) prints the figures and ends
non-zero unless lost, doubly effective and unaccounted are 0.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from taskgate.apikeys import issue
from taskgate.aws import clients
from taskgate.aws.audit import DynamoAudit
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.ports import build
from taskgate.client import Taskgate
from taskgate.client.errors import ClientError
from taskgate.gateway.office.reconciling import reconcile
from taskgate.lifecycle.states import State
from taskgate.local import LocalStack
from taskgate.local.process import Child
from taskgate.ports import Ports
from taskgate.principal import SCOPES
from taskgate.task import Owner, Task

OWNER = Owner("soak", "tester")
POOLS = ("gpu", "gpu", "cpu")
DRAIN_SECONDS = "4"
SETTLE_SECONDS = 420
"""After the chaos: the longest way to an end on the local stage is a few sweeps of a minute."""


@dataclass
class Figures:
    """What the soak did and saw."""

    submitted: int = 0
    refused: int = 0
    done: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    take_overs: int = 0
    rescues: int = 0
    hand_backs: int = 0
    late: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unaccounted: int = 0
    differences: int = 0

    @property
    def good(self) -> bool:
        wrong = self.lost or self.doubled or self.unaccounted or self.differences
        return self.submitted > 0 and not wrong

    def lines(self) -> Iterator[str]:
        yield f"tasks submitted      {self.submitted} (answers that failed: {self.refused})"
        yield f"chaos                {dict(self.done)}"
        yield f"ended by state       {dict(self.states)}"
        yield f"retries              {self.retries}"
        yield f"taken over           {self.take_overs}"
        yield f"rescued by the clock {self.rescues}"
        yield f"handed back          {self.hand_backs}"
        yield f"late ends refused    {self.late}"
        yield f"lost                 {len(self.lost)} {self.lost[:3]}"
        yield f"doubly effective     {len(self.doubled)} {self.doubled[:3]}"
        yield f"unaccounted          {self.unaccounted}"
        yield f"reconcile            {self.differences} differences"


class Soak:
    """Load, chaos, then the count."""

    def __init__(self, stack: LocalStack, seconds: float, seed: int) -> None:
        self.stack, self.until = stack, time.monotonic() + seconds
        self.rng, self.figures = random.Random(seed), Figures()
        self.ids: list[str] = []
        self._lock = threading.Lock()
        self._workers: list[tuple[str, Child]] = []
        os.environ.update(stack.client_variables)
        self.ports: Ports = build(stack.environment)
        keys = DynamoKeys(clients.dynamodb(), table=stack.environment.tasks_table)
        self.key = issue(keys, OWNER, SCOPES, max_pending=100_000)

    def run(self) -> Figures:
        for pool in POOLS:
            self._start(pool)
        threads = [threading.Thread(target=self._load, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        while time.monotonic() < self.until:
            time.sleep(self.rng.uniform(0.5, 3))
            self._chaos()
            self._replace_dead()
        for thread in threads:
            thread.join()
        self._settle()
        self._count()
        return self.figures

    # ---- load ---------------------------------------------------------------------------------

    def _load(self, number: int) -> None:
        rng = random.Random(number)
        with Taskgate(self.stack.api_url, self.key) as client:
            while time.monotonic() < self.until:
                try:
                    handle = client.submit(*self._job(rng))
                except ClientError:
                    self._refused()
                    continue
                with self._lock:
                    self.ids.append(handle.id)
                if rng.random() < 0.08:
                    with suppress(ClientError):
                        client.cancel(handle.id, mode=rng.choice(("soft", "hard")))
                time.sleep(rng.uniform(0.1, 0.6))

    def _job(self, rng: random.Random) -> tuple[str, dict[str, object]]:
        if rng.random() < 0.5:
            return "embed_document", {"text": f"Document {rng.random()}. " * 40}
        picture = {"prompt": f"soak {rng.random()}", "width": 64, "height": 64}
        return "text_to_image", {**picture, "steps": 5, "step_ms": rng.choice((0, 100, 400, 1500))}

    def _refused(self) -> None:
        with self._lock:
            self.figures.refused += 1
        time.sleep(0.5)

    # ---- chaos --------------------------------------------------------------------------------

    def _chaos(self) -> None:
        acts = (self._kill_worker, self._kill_child, self._drain, self._storm, self._pause)
        act = self.rng.choices(acts, (4, 4, 3, 1, 1))[0]
        act()
        self.figures.done[act.__name__.strip("_")] += 1

    def _kill_worker(self) -> None:
        _, worker = self.rng.choice(self._workers)
        worker.signal(signal.SIGKILL)

    def _kill_child(self) -> None:
        _, worker = self.rng.choice(self._workers)
        for pid in descendants(worker.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _drain(self) -> None:
        _, worker = self.rng.choice(self._workers)
        worker.signal(signal.SIGTERM)

    def _storm(self) -> None:
        for _, worker in self._workers:
            worker.signal(signal.SIGTERM)

    def _pause(self) -> None:
        """The whole of AWS stands still for some seconds."""
        pid = self.stack.emulator_pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(1, 6))
        os.kill(pid, signal.SIGCONT)

    def _replace_dead(self) -> None:
        for pool, worker in list(self._workers):
            if worker.exit_code is not None:
                worker.stop(timeout=1)
                self._workers.remove((pool, worker))
                self._start(pool)

    def _start(self, pool: str) -> None:
        worker = self.stack.start_worker(pool, {"TASKGATE_DRAIN": DRAIN_SECONDS})
        self._workers.append((pool, worker))

    # ---- the count ----------------------------------------------------------------------------

    def _settle(self) -> None:
        """No more chaos: wait until every task has ended."""
        give_up = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < give_up:
            self._replace_dead()
            if all(task is not None and task.state.ended for task in map(self._task, self.ids)):
                return
            time.sleep(3)

    def _count(self) -> None:
        figures = self.figures
        figures.submitted = len(self.ids)
        for task_id in self.ids:
            task = self._task(task_id)
            if task is None or not task.state.ended:
                figures.lost.append(f"{task_id} {task.state if task else 'gone'}")
                continue
            figures.states[task.state.value] += 1
            self._tell(task)
        books = self.ports.tasks.ledger(OWNER)
        # What was accepted and never answered is in the books, and nowhere else in our hands.
        unended = [i for i in books.active if not self._ended(i)]
        figures.unaccounted = len(unended) + (not books.balanced)
        figures.differences = self._reconcile()

    def _reconcile(self) -> int:
        """Differences that the proof of all books and clocks finds; a broken proof counts too."""
        stack = self.stack
        audit = DynamoAudit(
            stack.client("dynamodb"),
            table=stack.environment.tasks_table,
            clock_shards=stack.environment.clock_shards,
        )
        stop_at = self.ports.now() + 300_000
        report = reconcile(self.ports, audit, apply=False, segments=range(4), of=4, stop_at=stop_at)
        for difference in report.differences[:5]:
            print(f"difference: {difference}")  # noqa: T201 - evidence
        return len(report.differences) + (not report.finished)

    def _tell(self, task: Task) -> None:
        figures = self.figures
        verbs = Counter(e.verb.value for e in task.history if not e.reason.startswith("refused"))
        if verbs["succeed"] > 1:
            figures.doubled.append(task.id)
        figures.retries += sum(e.to is State.RETRYING for e in task.history)
        figures.take_overs += verbs["take_over"]
        figures.rescues += verbs["rescue"]
        figures.hand_backs += verbs["pause"]
        figures.late += sum(e.reason.startswith("refused") for e in task.history)

    def _task(self, task_id: str) -> Task | None:
        return self.ports.tasks.get(task_id)

    def _ended(self, task_id: str) -> bool:
        task = self._task(task_id)
        return task is not None and task.state.ended


def descendants(pid: int) -> list[int]:
    """The children of a process and theirs, without the process itself."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def main() -> int:
    """Run and print; 0 only when nothing was lost, doubled or unaccounted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    started = time.monotonic()
    with LocalStack() as stack:
        figures = Soak(stack, asked.seconds, asked.seed).run()
    for line in figures.lines():
        print(line)  # noqa: T201 - the figures are the product
    print(f"wall time            {time.monotonic() - started:.0f} s")  # noqa: T201
    return 0 if figures.good else 1


if __name__ == "__main__":
    sys.exit(main())
