"""The heart beats in time, reports in between, and knows when the task is lost."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from gpu_worker.heart import Heart
from gpu_worker.stop import Stop
from gpu_worker.veil import Veil
from gpu_worker.watchdog import Watchdog
from taskgate.errors import LeaseLost, Refused, Unavailable
from taskgate.gateway.work.worker import Held, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.ports import Delivery, Message, Signal
from taskgate.task import Limits, Owner, Task
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory.lanes import MemoryLanes
from tests.unit.gpu_worker.waiting import until

LIMITS = Limits(
    queue_timeout=1, run_timeout=1, max_run=1, deadline=1, redeliver_after=1, max_redeliveries=1,
    lease=1, send_check=1, stall_grace=1, cancel_grace=1,
)  # fmt: skip
TASK = Task(
    id="task_1", owner=Owner("t", "u"), type="x", lane="x-high", state=State.PROCESSING,
    created_at=0, since=0, deadline_at=1, limits=LIMITS, attempt=1,
)  # fmt: skip
HELD = Held(TASK, "{}", Delivery(Message("task_1", 0), "x-high", "r"))


@dataclass
class Gateway:
    """Records what it is told; answers with `signal`, or raises what `errors` holds next."""

    calls: list[tuple[float, str]] = field(default_factory=list)
    asked: list[tuple[State, int]] = field(default_factory=list)
    refreshed: int = 0
    errors: list[Exception] = field(default_factory=list)
    signal: Signal | None = None

    def report(self, held: Held, progress: float, stage: str) -> Signal | None:
        self.calls.append((progress, stage))
        if self.errors:
            raise self.errors.pop(0)
        return self.signal

    def refresh(self, held: Held) -> Held:
        self.refreshed += 1
        if self.errors:
            raise self.errors.pop(0)
        return held.at(replace(held.task, version=self.refreshed, deadline_at=self.refreshed))

    def extend(self, held: Held, seconds: int) -> Held:
        self.asked.append((held.task.state, seconds))
        if self.errors:
            raise self.errors.pop(0)
        limits = replace(held.task.limits, run_timeout=seconds * 1000)
        return held.at(replace(held.task, version=held.task.version + 1, limits=limits))


class HangingLanes(MemoryLanes):
    """A queue service that swallows every call to hide a message."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(), 45)
        self.asked, self.free = 0, threading.Event()

    def hide(self, delivery: Delivery, seconds: int) -> None:
        self.asked += 1
        self.free.wait(10)


def heart(
    gateway: Gateway, every: float, lanes: MemoryLanes | None = None, beaten: Any = lambda: None
) -> Heart:
    veil = Veil(lanes or MemoryLanes(VirtualClock(), 45), HELD.delivery, 1, every)
    made = Heart(cast("WorkerGateway", gateway), HELD, every, veil, beaten)
    made.start()
    return made


def test_it_beats_every_so_often_until_stopped() -> None:
    gateway, began = Gateway(), time.monotonic()
    one = heart(gateway, 0.1)
    until(lambda: len(gateway.calls) >= 3)
    one.stop()
    count = len(gateway.calls)
    assert count <= (time.monotonic() - began) / 0.1 + 1
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
    assert gateway.calls == [(0.99, "going")]


def test_a_store_that_is_away_does_not_stop_the_heart() -> None:
    gateway = Gateway(errors=[Unavailable(), RuntimeError("a bug"), Unavailable()])
    one = heart(gateway, 0.1)
    until(lambda: len(gateway.calls) >= 5)
    one.stop()
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
    until(lambda: one.signal and one.lost is (kind == "lost"))
    one.stop()
    assert one.signal == kind
    assert one.lost is (kind == "lost")


def test_a_queue_service_that_hangs_does_not_hold_the_heart_up() -> None:
    gateway, lanes = Gateway(), HangingLanes()
    one = heart(gateway, 0.1, lanes)
    until(lambda: lanes.asked and len(gateway.calls) >= 3)
    one.stop()
    assert lanes.asked == 1
    lanes.free.set()


def test_the_message_stays_hidden_as_long_as_the_heart_beats() -> None:
    lanes = MemoryLanes(clock := VirtualClock(), 45)
    lanes.send("x-high", HELD.delivery.message)
    delivery = lanes.receive("x-high")[0]
    veil = Veil(lanes, delivery, 45, 0.05)
    clock.advance(44)
    veil.start()
    time.sleep(0.2)
    clock.advance(44)
    assert lanes.waiting("x-high") == 0
    veil.lift()
    clock.advance(45)
    assert lanes.waiting("x-high") == 1


def test_each_beat_is_told_to_who_wants_to_know() -> None:
    gateway, beaten = Gateway(), list[int]()
    one = heart(gateway, 0.1, beaten=lambda: beaten.append(1))
    until(lambda: len(beaten) >= 2)
    one.stop()
    assert len(beaten) <= len(gateway.calls)


def test_limits_that_were_moved_are_read_again_with_each_beat_that_says_so() -> None:
    gateway = Gateway(signal=Signal("deadline", 1))
    one = heart(gateway, 0.1)
    until(lambda: gateway.refreshed >= 2)
    one.stop()
    assert one.held.task.deadline_at == gateway.refreshed
    assert not one.lost


def test_a_task_that_is_somebody_elses_when_read_again_is_lost() -> None:
    one = heart(Gateway(errors=[Refused(None)]), 30)
    one.refresh()
    assert one.lost
    one.stop()


def test_an_extension_is_made_at_once_and_kept() -> None:
    gateway = Gateway()
    one = heart(gateway, 30)
    one.extend(12.3)
    until(lambda: not one.extending)
    one.stop()
    assert gateway.asked == [(State.PROCESSING, 13)]
    assert one.held.task.limits.run_timeout == 13_000


@pytest.mark.parametrize("error", [Unavailable(), RuntimeError("a bug")])
def test_an_extension_that_fails_is_answered_all_the_same(error: Exception) -> None:
    gateway = Gateway(errors=[error])
    one = heart(gateway, 30)
    one.extend(10)
    until(lambda: not one.extending)
    assert one.held is HELD
    one.note(0.5, "it beats on")
    until(lambda: bool(gateway.calls))
    one.stop()


def test_a_copy_of_another_attempt_means_that_the_task_is_lost() -> None:
    class Newer(Gateway):
        def refresh(self, held: Held) -> Held:
            return held.at(replace(held.task, attempt=held.task.attempt + 1))

    one = heart(Newer(), 30)
    one.refresh()
    assert (one.lost, one.held) == (True, HELD)
    one.stop()


def test_an_extension_of_a_suspect_is_tried_again_with_a_new_copy() -> None:
    gateway = Gateway(errors=[Refused(None)])
    one = heart(gateway, 30)
    one.extend(10)
    until(lambda: not one.extending)
    one.stop()
    assert (len(gateway.asked), gateway.refreshed) == (2, 1)


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
