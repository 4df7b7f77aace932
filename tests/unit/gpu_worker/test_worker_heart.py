"""The heart beats in time, reports in between, and knows when the task is lost."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import cast

import pytest

from gpu_worker.heart import Heart
from gpu_worker.stop import Stop
from gpu_worker.watchdog import Watchdog
from taskgate.errors import LeaseLost, Unavailable
from taskgate.gateway.worker import Held, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.ports import Delivery, Message, Signal
from taskgate.task import Limits, Owner, Task

LIMITS = Limits(
    queue_timeout=1, run_timeout=1, max_run=1, deadline=1, redeliver_after=1, max_redeliveries=1,
    lease=1, send_check=1, stall_grace=1, cancel_grace=1,
)  # fmt: skip
TASK = Task(
    id="task_1", owner=Owner("t", "u"), type="x", lane="x-high", state=State.PROCESSING,
    created_at=0, since=0, deadline_at=1, limits=LIMITS, attempt=1,
)  # fmt: skip
HELD = Held(TASK, "{}", Delivery(Message("task_1", 0), "x-high", "r"), 1000)


@dataclass
class Gateway:
    """Records beats and reports; answers with `signal`, or raises what `errors` holds next."""

    calls: list[tuple[str, float, str, float]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    signal: Signal | None = None

    def beat(self, held: Held, progress: float, stage: str) -> Signal | None:
        return self._called("beat", progress, stage)

    def report(self, held: Held, progress: float, stage: str) -> Signal | None:
        return self._called("report", progress, stage)

    def _called(self, name: str, progress: float, stage: str) -> Signal | None:
        self.calls.append((name, progress, stage, time.monotonic()))
        if self.errors:
            raise self.errors.pop(0)
        return self.signal

    def named(self, name: str) -> list[tuple[float, str]]:
        return [(p, s) for n, p, s, _ in self.calls if n == name]


def heart(gateway: Gateway, every: float) -> Heart:
    made = Heart(cast("WorkerGateway", gateway), HELD, every)
    made.start()
    return made


def test_it_beats_every_so_often_until_stopped() -> None:
    gateway = Gateway()
    one = heart(gateway, 0.1)
    time.sleep(0.55)
    one.stop()
    count = len(gateway.calls)
    assert 3 <= count <= 6
    time.sleep(0.25)
    assert len(gateway.calls) == count


def test_only_changed_progress_is_reported_and_the_latest_wins() -> None:
    gateway = Gateway()
    one = heart(gateway, 30)
    for n in range(100):
        one.note(n / 100, "going")
    time.sleep(1.3)
    one.note(0.99, "going")
    time.sleep(0.2)
    one.stop()
    assert gateway.named("report") == [(0.99, "going")]
    assert gateway.named("beat") == []


def test_a_store_that_is_away_does_not_stop_the_heart() -> None:
    gateway = Gateway(errors=[Unavailable(), RuntimeError("a bug"), Unavailable()])
    one = heart(gateway, 0.1)
    time.sleep(0.8)
    one.stop()
    assert len(gateway.named("beat")) >= 5
    assert not one.lost


def test_a_lost_lease_stops_the_heart_and_wakes_who_waits() -> None:
    gateway = Gateway(errors=[LeaseLost(None)])
    one = heart(gateway, 0.1)
    assert one.wait_lost(5)
    time.sleep(0.3)
    one.stop()
    assert len(gateway.calls) == 1


@pytest.mark.parametrize("kind", ["cancel_soft", "cancel_hard", "lost"])
def test_the_gateways_word_is_kept(kind: str) -> None:
    gateway = Gateway(signal=Signal(kind, 1))
    one = heart(gateway, 0.05)
    time.sleep(0.2)
    one.stop()
    assert one.signal == kind
    assert one.lost is (kind == "lost")


def test_a_worker_is_asked_once_waits_for_its_run_and_asked_twice_does_not() -> None:
    stop = Stop(100)
    assert (stop.asked, stop.over) == (False, False)
    stop.ask("SIGTERM")
    assert (stop.asked, stop.over) == (True, False)
    stop.ask("SIGTERM")
    assert stop.over


def test_the_watchdog_bites_when_a_poll_does_not_come_back() -> None:
    bitten = threading.Event()
    dog = Watchdog(0.2, lambda what: bitten.set())
    dog.start()
    with dog.expecting("poll"):
        assert bitten.wait(3)
    dog.close()


def test_the_watchdog_leaves_a_long_run_alone() -> None:
    bitten = threading.Event()
    dog = Watchdog(0.2, lambda what: bitten.set())
    dog.start()
    for _ in range(3):
        with dog.expecting("poll"):
            pass
    assert not bitten.wait(0.6)
    dog.close()
