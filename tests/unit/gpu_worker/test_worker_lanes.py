"""Urgent work mostly first, low work never starved, and never a hot loop."""

from __future__ import annotations

import itertools
import time
from collections import Counter

from gpu_worker.lanes import WEIGHTS, LanePoller, lane_names, weighted_order
from gpu_worker.stop import Stop
from taskgate.errors import Unavailable
from taskgate.ports import Delivery, Message
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory.lanes import MemoryLanes


class CountingLanes(MemoryLanes):
    """Counts receives; `broken` raises."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(), 45)
        self.asked: list[tuple[str, int]] = []
        self.broken = False

    def receive(self, lane: str, wait: int = 0, most: int = 1) -> list[Delivery]:
        assert most == 1
        self.asked.append((lane, wait))
        if self.broken:
            raise Unavailable
        return list(super().receive(lane, 0, most))

    def fill(self, lane: str, count: int) -> None:
        for n in range(count):
            self.send(lane, Message(f"{lane}-{n}", 0))


def poller(lanes: MemoryLanes, stop: Stop | None = None) -> LanePoller:
    return LanePoller(lanes, "gpu", 1, stop or Stop(1))


def test_in_eight_turns_high_is_first_five_times_normal_twice_and_low_once() -> None:
    turns = list(itertools.islice(weighted_order(WEIGHTS), 800))
    firsts = [turn[0] for turn in turns]
    for start in range(0, 800, 8):
        assert Counter(firsts[start : start + 8]) == WEIGHTS
    assert all(sorted(turn) == sorted(WEIGHTS) for turn in turns)


def test_the_turns_of_a_lane_are_spread_not_bunched() -> None:
    firsts = [turn[0] for turn in itertools.islice(weighted_order(WEIGHTS), 80)]
    longest = max(len(list(run)) for _, run in itertools.groupby(firsts))
    assert longest <= 3


def test_when_all_lanes_are_full_low_gets_one_start_in_eight() -> None:
    lanes = CountingLanes()
    for lane in lane_names("gpu"):
        lanes.fill(lane, 100)
    one = poller(lanes)
    lanes_of = [d.lane for d in (one.next() for _ in range(80)) if d]
    assert Counter(lanes_of) == {"gpu-high": 50, "gpu-normal": 20, "gpu-low": 10}


def test_a_lane_that_is_empty_gives_its_turn_to_the_most_urgent_that_is_not() -> None:
    lanes = CountingLanes()
    lanes.fill("gpu-low", 3)
    lanes.fill("gpu-normal", 3)
    one = poller(lanes)
    lanes_of = [d.lane for d in (one.next() for _ in range(6)) if d]
    assert lanes_of.count("gpu-normal") == 3
    assert lanes_of[:2] == ["gpu-normal", "gpu-normal"]


def test_an_idle_worker_listens_at_each_lane_in_turn_one_call_at_a_time() -> None:
    lanes, stop = CountingLanes(), Stop(1)
    stop.ask("no waits in this test")
    one = poller(lanes, stop)
    for _ in range(7):
        assert one.next() is None
    waits = [(lane, wait) for lane, wait in lanes.asked if wait]
    assert [lane for lane, _ in waits] == [*lane_names("gpu"), *lane_names("gpu")]
    assert {wait for _, wait in waits} == {1}


def test_after_a_message_the_lanes_are_asked_without_waiting_again() -> None:
    lanes, stop = CountingLanes(), Stop(1)
    stop.ask("no waits in this test")
    one = poller(lanes, stop)
    one.next()
    lanes.fill("gpu-high", 2)
    assert one.next() is not None
    lanes.asked.clear()
    assert one.next() is not None
    assert {wait for _, wait in lanes.asked} == {0}


def test_a_queue_service_that_answers_long_polls_at_once_does_not_make_a_hot_loop() -> None:
    lanes = CountingLanes()
    one, began = poller(lanes), time.monotonic()
    while time.monotonic() - began < 1.2:
        one.next()
    assert len(lanes.asked) <= 3 + 3


def test_a_queue_service_that_is_away_is_asked_again_after_a_pause() -> None:
    lanes, stop = CountingLanes(), Stop(1)
    stop.ask("no waits in this test")
    lanes.broken = True
    one = poller(lanes, stop)
    assert one.next() is None
    lanes.broken = False
    lanes.fill("gpu-low", 1)
    assert one.next() is not None


def test_a_message_that_is_put_back_can_be_received_at_once() -> None:
    lanes = CountingLanes()
    lanes.fill("gpu-high", 1)
    one = poller(lanes)
    first = one.next()
    assert first is not None
    one.put_back(first)
    again = one.next()
    assert again is not None
    assert again.message == first.message


def test_a_high_task_is_the_next_to_start_but_never_interrupts_a_low_one_that_runs() -> None:
    """Priority orders starts only: with all workers in long low tasks, high waits for an end (B57)."""
    lanes, workers = MemoryLanes(lambda: 0, 45), 3
    pollers = [LanePoller(lanes, "gpu", 1, Stop(1)) for _ in range(workers)]
    for n in range(20):
        lanes.send("gpu-low", Message(f"low{n}", 0))
    running = [_next_of(poller) for poller in pollers]
    assert [lane for lane, _ in running] == ["gpu-low"] * workers
    lanes.send("gpu-high", Message("urgent", 0))
    # Nobody is free, and nothing takes a low task from its worker: no poller is asked until one ends.
    starts = [_next_of(pollers[n % workers]) for n in range(8)]
    assert ("gpu-high", "urgent") in starts[:2]
    assert {lane for lane, _ in starts} == {"gpu-high", "gpu-low"}


def _next_of(poller: LanePoller) -> tuple[str, str]:
    delivery = poller.next()
    assert delivery is not None
    return delivery.lane, delivery.message.task_id


def test_nothing_is_received_from_a_lane_that_is_paused_busy_or_idle() -> None:
    lanes, stop, paused = CountingLanes(), Stop(1), {"gpu-high"}
    stop.ask("no waits in this test")
    for lane in lane_names("gpu"):
        lanes.fill(lane, 2)
    one = LanePoller(lanes, "gpu", 1, stop, paused.__contains__)
    found = [one.next() for _ in range(10)]
    assert {d.lane for d in found if d} == {"gpu-normal", "gpu-low"}
    assert "gpu-high" not in {lane for lane, _ in lanes.asked}
    paused.clear()
    again = [one.next() for _ in range(4)]
    assert [d.lane for d in again if d] == ["gpu-high", "gpu-high"]


def test_while_all_lanes_are_paused_a_worker_asks_nothing_and_does_not_spin() -> None:
    lanes = CountingLanes()
    one, began = LanePoller(lanes, "gpu", 1, Stop(1), lambda _: True), time.monotonic()
    turns = 0
    while time.monotonic() - began < 1.2:
        one.next()
        turns += 1
    assert lanes.asked == []
    assert turns <= 3
