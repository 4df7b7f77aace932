"""The worker's sign of itself, from a thread of its own: it holds nothing up and fails nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gpu_worker.fitness import Gpu, gpu_of_host
from gpu_worker.stop import Stop
from taskgate.events import swallowed
from taskgate.roster import Roster, Sign, WorkerState
from taskgate.spreads import Spans, Spread, Spreads, bucket_of
from taskgate.task import Task
from taskgate.version import VERSION

JOIN_AGAIN: Final = 30
"""So many signs later it enters the list again, should it have been struck off it meanwhile."""
LEAVE_WITHIN: Final = 5.0
"""Seconds for the sign that is under way and the farewell: who could not say it is shown as lost."""
SLICES: Final = 16
"""So often between two signs it looks whether there is something to tell sooner."""


@dataclass
class Presence:
    """Tells of the worker from `start` until `close`; without a roster, nothing. Times are seconds."""

    roster: Roster | None
    worker: str
    pool: str
    every: float
    now: Callable[[], int]
    stop: Stop
    look: Callable[[], Gpu | None] = gpu_of_host
    spreads: Spreads | None = None
    _task: Task | None = None
    _closed: threading.Event = field(default_factory=threading.Event)
    _signs: int = 0
    _spans: dict[tuple[str, str], Spans] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._started_at = self.now()
        self._gpu: Gpu | None = None
        self._thread = threading.Thread(target=self._live, daemon=True, name="presence")

    def start(self) -> None:
        if self.roster is not None:
            self._thread.start()

    def holds(self, task: Task | None) -> None:
        """What it runs from now on; None for nothing."""
        self._task = task

    def ran(self, task: Task, seconds: float | None) -> None:
        """A run is over, a good one after so many seconds: counted with the next sign, for estimates."""
        waits, runs = Spread(), Spread()
        if task.attempt == 1 and task.queued_at is not None and task.started_at is not None:
            waits = Spread({bucket_of(task.started_at - task.queued_at): 1})
        if seconds is not None:
            runs = Spread({bucket_of(seconds * 1000): 1})
        with self._lock:
            known = self._spans.get((task.type, task.lane), Spans())
            self._spans[task.type, task.lane] = known + Spans(waits, runs)

    def close(self) -> None:
        """Off the roster, as far as that can be written in time."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_WITHIN)

    def _live(self) -> None:
        self._gpu = self.look()
        while not self._closed.is_set():
            self._tell(self._report)
            self._count()
            self._wait()
        self._tell(self._leave)
        self._count()

    def _wait(self) -> None:
        """Until the next sign is due: at once when it drains, sooner when it does something else."""
        told, draining, began = self._task, self.stop.asked, time.monotonic()
        while draining == self.stop.asked:
            due = self.every if told is self._task else self.every / 2
            left = began + due - time.monotonic()
            if left <= 0 or self._closed.wait(min(left, self.every / SLICES)):
                return

    def _tell(self, act: Callable[[Roster], None]) -> None:
        try:
            if self.roster is not None:
                act(self.roster)
        except Exception as error:  # noqa: BLE001  who does not see us is no reason not to work
            swallowed("sign_not_given", error, worker=self.worker)

    def _count(self) -> None:
        """What cannot be counted now is never counted: it is for an estimate only."""
        with self._lock:
            spans, self._spans = self._spans, {}
        try:
            for (kind, lane), found in spans.items():
                if self.spreads is not None:
                    self.spreads.add(kind, lane, found)
        except Exception as error:  # noqa: BLE001  an estimate is no reason not to work
            swallowed("spans_not_counted", error, worker=self.worker)

    def _report(self, roster: Roster) -> None:
        roster.report(self._sign())
        if self._signs % JOIN_AGAIN == 0:
            roster.join(self.pool, self.worker)
        self._signs += 1

    def _leave(self, roster: Roster) -> None:
        roster.leave(self._sign())

    def _sign(self) -> Sign:
        task = self._task
        return Sign(
            worker=self.worker,
            pool=self.pool,
            version=VERSION,
            state=self._state(task),
            started_at=self._started_at,
            beat_at=self.now(),
            task_id=task.id if task else None,
            task_type=task.type if task else None,
            attempt=task.attempt if task else None,
            gpu=self._gpu.model if self._gpu else None,
            gpu_memory_mib=self._gpu.memory_mib if self._gpu else None,
        )

    def _state(self, task: Task | None) -> WorkerState:
        if self.stop.asked:
            return WorkerState.DRAINING
        return WorkerState.BUSY if task else WorkerState.IDLE
