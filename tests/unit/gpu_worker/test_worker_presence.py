"""A worker's sign of itself: true, soon, and never in the way of the work."""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_worker import presence as presences
from gpu_worker.fitness import Gpu, gpu_of_host
from gpu_worker.presence import Presence
from gpu_worker.stop import Stop
from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.roster import Sign, WorkerState
from taskgate.spreads import Spans, bucket_of
from taskgate.testing.clock import VirtualClock
from taskgate.testing.factories import task_in
from taskgate.testing.memory.roster import MemoryRoster
from taskgate.testing.memory.spreads import MemorySpreads
from tests.unit.gpu_worker.waiting import until

TASK = task_in(State.PROCESSING)


class Counted(MemoryRoster):
    """Counts; while it is away, every call fails."""

    def __init__(self) -> None:
        super().__init__(VirtualClock())
        self.joins = self.reports = 0
        self.away = False

    def report(self, sign: Sign) -> None:
        self.reports += 1
        if self.away:
            raise Unavailable
        super().report(sign)

    def join(self, pool: str, worker: str) -> None:
        self.joins += 1
        super().join(pool, worker)

    @property
    def seen(self) -> Sign | None:
        return next(iter(self.present(["gpu"])), None)


@pytest.fixture
def roster() -> Counted:
    return Counted()


@pytest.fixture
def stop() -> Stop:
    return Stop(10)


@pytest.fixture
def presence(roster: Counted, stop: Stop) -> Iterator[Presence]:
    found = Gpu("NVIDIA T4", 15_360)
    presence = Presence(roster, "w1", "gpu", 0.02, roster._now, stop, look=lambda: found)
    presence.start()
    yield presence
    presence.close()


def _is(roster: Counted, state: WorkerState) -> bool:
    return roster.seen is not None and roster.seen.state is state


def test_an_idle_worker_is_seen_with_its_gpu_then_busy_then_idle_again(
    roster: Counted, presence: Presence
) -> None:
    until(lambda: _is(roster, WorkerState.IDLE))
    assert roster.seen is not None
    assert (roster.seen.gpu, roster.seen.gpu_memory_mib) == ("NVIDIA T4", 15_360)
    presence.holds(TASK)
    until(lambda: _is(roster, WorkerState.BUSY))
    assert (roster.seen.task_id, roster.seen.attempt) == (TASK.id, TASK.attempt)
    presence.holds(None)
    until(lambda: _is(roster, WorkerState.IDLE))
    assert roster.seen.task_id is None


def test_a_worker_that_leaves_says_so_at_once_and_is_then_gone(roster: Counted, stop: Stop) -> None:
    presence = Presence(roster, "w1", "gpu", 8, roster._now, stop, look=lambda: None)
    presence.start()
    until(lambda: _is(roster, WorkerState.IDLE))
    stop.ask("SIGTERM")
    until(lambda: _is(roster, WorkerState.DRAINING))
    presence.close()
    assert roster.seen is None
    assert "presence" not in {thread.name for thread in threading.enumerate()}


def test_a_change_is_told_sooner_but_not_more_than_twice_as_often(
    roster: Counted, stop: Stop
) -> None:
    presence = Presence(roster, "w1", "gpu", 1.0, roster._now, stop, look=lambda: None)
    presence.start()
    until(lambda: _is(roster, WorkerState.IDLE))
    began = time.monotonic()
    while time.monotonic() < began + 1.1:
        presence.holds(TASK if roster.seen and roster.seen.task_id is None else None)
        time.sleep(0.01)
    until(lambda: roster.reports >= 2)
    presence.close()
    assert roster.reports <= 2 + (time.monotonic() - began) / 0.5


def test_a_roster_that_is_away_is_asked_again_and_stops_nothing(
    roster: Counted, presence: Presence, stop: Stop
) -> None:
    roster.away = True
    before = roster.reports
    until(lambda: roster.reports > before + 3)
    presence.holds(TASK)
    roster.away = False
    until(lambda: _is(roster, WorkerState.BUSY))
    assert not stop.asked


def test_it_joins_at_its_first_sign_and_again_after_many(
    roster: Counted, presence: Presence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presences, "JOIN_AGAIN", 5)
    until(lambda: roster.reports >= 12)
    assert 2 <= roster.joins <= 1 + roster.reports // 5


def test_a_store_that_hangs_does_not_keep_the_process(
    roster: Counted, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, let_go = threading.Event(), threading.Event()

    def hangs(sign: Sign) -> None:
        hung.set()
        let_go.wait(30)

    monkeypatch.setattr(presences, "LEAVE_WITHIN", 0.1)
    monkeypatch.setattr(roster, "report", hangs)
    presence = Presence(roster, "w1", "gpu", 1, roster._now, stop, look=lambda: None)
    presence.start()
    assert hung.wait(5)
    began = time.monotonic()
    presence.close()
    assert time.monotonic() - began < 5
    let_go.set()


def test_what_ran_is_counted_with_the_next_sign_and_when_it_leaves(
    roster: Counted, stop: Stop
) -> None:
    spreads = MemorySpreads(roster._now)
    presence = Presence(
        roster, "w1", "gpu", 0.02, roster._now, stop, look=lambda: None, spreads=spreads
    )
    presence.start()
    first = replace(TASK, attempt=1, queued_at=1_000, started_at=6_000)
    presence.ran(first, 30.0)
    presence.ran(replace(first, attempt=2), None)
    until(lambda: spreads.lately(TASK.type, TASK.lane).runs.samples)
    presence.ran(first, 30.0)
    presence.close()
    spans = spreads.lately(TASK.type, TASK.lane)
    assert spans.waits.counts == {bucket_of(5_000): 2}
    assert spans.runs.counts == {bucket_of(30_000): 2}


def test_counts_that_cannot_be_kept_cost_no_sign(roster: Counted, stop: Stop) -> None:
    tried: list[str] = []

    class Away:
        def add(self, kind: str, lane: str, spans: Spans) -> None:
            tried.append(kind)
            raise Unavailable

        def lately(self, kind: str, lane: str) -> Spans:
            raise Unavailable

    presence = Presence(
        roster, "w1", "gpu", 0.02, roster._now, stop, look=lambda: None, spreads=Away()
    )
    presence.start()
    presence.ran(TASK, 1.0)
    until(lambda: tried)
    before = roster.reports
    until(lambda: roster.reports > before + 3)
    presence.close()
    assert tried == [TASK.type], "what cannot be counted now is never counted"


def test_without_a_roster_there_is_no_thread(stop: Stop) -> None:
    presence = Presence(None, "w1", "gpu", 1, VirtualClock(), stop)
    presence.start()
    presence.close()
    assert not presence._thread.is_alive()


def _smi(folder: Path, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


SMI = {
    "echo 'NVIDIA A10G, 23028'": Gpu("NVIDIA A10G", 23_028),
    "printf 'NVIDIA H100, 81559\\nNVIDIA H100, 81559\\n'": Gpu("NVIDIA H100", 81_559),
    "echo 'NVIDIA GH200, [N/A]'": Gpu("NVIDIA GH200", None),
    "echo ''": None,
    "exit 9": None,
}


@pytest.mark.parametrize("said", SMI)
def test_the_gpu_is_what_its_driver_says_and_unknown_when_it_says_nothing(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _smi(tmp_path, said, monkeypatch)
    assert gpu_of_host() == SMI[said]


def test_a_host_without_a_driver_has_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_of_host() is None
