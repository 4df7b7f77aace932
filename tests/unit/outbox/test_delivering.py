"""What follows from an attempt, and what an ill receiver does to the others' turns. All pure."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgate.gateway.outbox.delivering import (
    OWED_AT_MOST_MS,
    SCHEDULE,
    Attempt,
    Delivered,
    GiveUp,
    Go,
    PutOff,
    Reason,
    TryAt,
    admit,
    answered,
    decide,
    note,
)
from taskgate.receivers import FAILURES, LAST_PROBE_MS, PROBING_MS, Health, receiver_of
from taskgate.testing.memory.receivers import MemoryReceivers

NOW = 1_790_000_000_000
DAY = 86_400
HOOK = receiver_of("acme", "hooks.example", 443)
DOWN = Attempt(None, Reason.CONNECT, 3)
UP = Attempt(200, Reason.OK, 3)
draws = st.floats(0, 1, exclude_max=True)


def of(status: int, retry_after: float | None = None) -> Attempt:
    return Attempt(status, answered(status), 5, retry_after)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_delivered(status):
    assert decide(of(status), 1, now=NOW, draw=0.5) == Delivered()


def test_410_gives_up_at_once():
    assert isinstance(decide(of(410), 1, now=NOW, draw=0.5), GiveUp)


@pytest.mark.parametrize(
    "attempt",
    [of(s) for s in (301, 302, 303, 307, 308, 304, 400, 401, 404, 429, 500, 502, 503, 101)]
    + [Attempt(None, r, 1) for r in Reason if r not in {Reason.OK, Reason.GONE}],
)
def test_everything_else_is_tried_again(attempt):
    assert isinstance(decide(attempt, 1, now=NOW, draw=0.5), TryAt)


@given(draws)
def test_the_pauses_are_those_of_the_schedule_give_or_take_a_fifth(draw):
    for tries, seconds in enumerate(SCHEDULE[1:], start=1):
        outcome = decide(of(500), tries, now=NOW, draw=draw)
        assert isinstance(outcome, TryAt)
        assert 0.8 * seconds <= (outcome.when - NOW) / 1000 <= 1.2 * seconds


def test_after_the_last_attempt_it_is_given_up_with_the_last_reason():
    outcome = decide(of(302), len(SCHEDULE), now=NOW, draw=0.5)
    assert outcome == GiveUp("8 attempts; the last one: redirect")


@pytest.mark.parametrize("status", [429, 503])
@given(asked=st.floats(0, 10**7), draw=draws)
def test_retry_after_is_waited_for_and_capped_at_a_day(status, asked, draw):
    outcome = decide(of(status, asked), 1, now=NOW, draw=draw)
    assert isinstance(outcome, TryAt)
    waited = (outcome.when - NOW) / 1000
    assert min(asked, DAY) <= waited + 0.001
    assert waited <= max(1.1 * min(asked, DAY), 6)


@pytest.mark.parametrize("status", [500, 404, 302])
def test_retry_after_of_other_answers_means_nothing(status):
    assert decide(of(status, 9999), 1, now=NOW, draw=0.5) == TryAt(NOW + 5000)


@pytest.mark.parametrize(
    ("attempt", "ill"),
    [
        (UP, False),
        (of(404), False),
        (of(302), False),
        (of(410), False),
        (of(429), True),
        (of(500), True),
        (of(503), True),
        (DOWN, True),
        (Attempt(None, Reason.TIMEOUT, 10_000), True),
        (Attempt(None, Reason.UNSAFE, 0), None),
    ],
)
def test_only_signs_of_illness_speak_against_a_host(attempt, ill):
    assert attempt.host_is_ill is ill


class CountedReceivers(MemoryReceivers):
    reads = writes = 0

    def get(self, receiver: str) -> Health:
        self.reads += 1
        return super().get(receiver)

    def swap(self, receiver: str, seen: Health, new: Health) -> Health | None:
        self.writes += 1
        return super().swap(receiver, seen, new)


def turn(receivers, now=NOW, owed_since=NOW):
    return admit(receivers, HOOK, owed_since=owed_since, now=now)


def fail(receivers, times=1, now=NOW):
    for _ in range(times):
        note(receivers, HOOK, Go(receivers.get(HOOK)), DOWN, now=now, draw=0.5)


def opened(failures=FAILURES):
    receivers = MemoryReceivers()
    fail(receivers, failures)
    return receivers


def test_a_delivery_to_a_host_that_is_well_costs_one_read_and_no_write():
    receivers = CountedReceivers()
    went = turn(receivers)
    note(receivers, HOOK, went, UP, now=NOW, draw=0.5)
    assert (receivers.reads, receivers.writes) == (1, 0)


def test_five_failures_in_a_row_open_the_breaker_and_four_do_not():
    assert isinstance(turn(opened(4)), Go)
    assert isinstance(turn(opened(5)), PutOff)


def test_a_success_between_starts_the_row_anew():
    receivers = opened(4)
    note(receivers, HOOK, turn(receivers), UP, now=NOW, draw=0.5)
    fail(receivers, 4)
    assert isinstance(turn(receivers), Go)


def test_a_url_that_the_guard_refuses_says_nothing_about_the_host():
    receivers = opened(4)
    unsafe = Attempt(None, Reason.UNSAFE, 0)
    note(receivers, HOOK, turn(receivers), unsafe, now=NOW, draw=0.5)
    assert receivers.get(HOOK).failures == 4


def test_one_tenants_failures_do_not_hold_up_another():
    receivers = opened()
    other = receiver_of("rival", "hooks.example", 443)
    assert isinstance(admit(receivers, other, owed_since=NOW, now=NOW), Go)


def test_of_all_that_come_when_a_probe_is_due_one_goes():
    receivers = opened()
    due = receivers.get(HOOK).next_probe_at
    turns = [turn(receivers, now=due) for _ in range(20)]
    assert sum(isinstance(t, Go) and t.probe for t in turns) == 1
    assert all(t.until >= due + PROBING_MS for t in turns if isinstance(t, PutOff))


def test_of_two_probers_who_saw_the_same_one_goes():
    receivers = opened()
    due = receivers.get(HOOK).next_probe_at
    stale = receivers.get(HOOK)
    assert isinstance(turn(receivers, now=due), Go)
    receivers.get = lambda receiver: stale  # type: ignore[method-assign]
    assert isinstance(turn(receivers, now=due), PutOff)


def test_a_prober_that_dies_is_replaced_by_the_next():
    receivers = opened()
    due = receivers.get(HOOK).next_probe_at
    assert isinstance(turn(receivers, now=due), Go)
    assert isinstance(turn(receivers, now=due + PROBING_MS - 1), PutOff)
    assert isinstance(turn(receivers, now=due + PROBING_MS), Go)


def test_probes_thin_out_to_a_quarter_of_an_hour_and_no_further():
    receivers, now, pauses = opened(), NOW, []
    for _ in range(70):
        now = receivers.get(HOOK).next_probe_at
        note(receivers, HOOK, turn(receivers, now=now), DOWN, now=now, draw=0.999)
        pauses.append(receivers.get(HOOK).next_probe_at - now)
    assert pauses == sorted(pauses)
    assert pauses[0] < 61_000
    assert LAST_PROBE_MS * 0.99 < pauses[-1] <= LAST_PROBE_MS


def test_attempts_that_set_out_before_it_opened_do_not_lengthen_the_pause():
    receivers = opened()
    before = receivers.get(HOOK)
    fail(receivers, 50)
    assert receivers.get(HOOK) == before


def test_a_probe_that_is_answered_closes_it():
    receivers = opened()
    due = receivers.get(HOOK).next_probe_at
    note(receivers, HOOK, turn(receivers, now=due), of(404), now=due, draw=0.5)
    assert isinstance(turn(receivers, now=due), Go)
    assert receivers.get(HOOK).failures == 0


def test_a_success_that_set_out_in_the_row_of_failures_closes_it_too():
    receivers = opened(1)
    went = turn(receivers)
    fail(receivers, 4)
    assert isinstance(turn(receivers), PutOff)
    note(receivers, HOOK, went, UP, now=NOW, draw=0.5)
    assert isinstance(turn(receivers), Go)


def test_put_off_for_three_days_a_callback_is_given_up():
    receivers = opened()
    assert isinstance(turn(receivers, owed_since=NOW - OWED_AT_MOST_MS), GiveUp)


def test_the_breaker_tells_when_it_opens_and_closes_and_never_the_host(caplog):
    receivers = opened()
    due = receivers.get(HOOK).next_probe_at
    note(receivers, HOOK, turn(receivers, now=due), UP, now=due, draw=0.5)
    told = "\n".join(caplog.messages)
    assert told.count("receiver_opened") == told.count("receiver_closed") == 1
    assert "hooks.example" not in told


@pytest.mark.parametrize("tasks", [200, 2000])
def test_an_outage_of_six_hours_loses_nothing_and_does_not_end_in_a_storm(tasks):
    up_at = NOW + 6 * 3600 * 1000
    world = Outage(tasks, up_at)
    world.run()
    assert len(world.delivered) == tasks
    assert world.given_up == 0
    # While it was down it was left alone, once the breaker was open.
    assert world.failures < tasks * 0.2 + 60
    # From the first success the backlog goes out at the line's rate, and stays below 15 a second.
    per_second = [len(list(g)) for _, g in itertools.groupby(world.delivered, lambda t: t // 1000)]
    assert max(per_second) <= 15
    assert world.delivered[-1] - up_at <= LAST_PROBE_MS * 1.2 + tasks * 100 * 2


class Outage:
    """Tasks that end over ten minutes, for a receiver that is down until `up_at`."""

    def __init__(self, tasks: int, up_at: int) -> None:
        self.up_at, self.receivers, self.draw = up_at, MemoryReceivers(), random.Random(4).random
        self.due = [(NOW + i * 600_000 // tasks, i, 1) for i in range(tasks)]
        self.delivered, self.failures, self.given_up = [], 0, 0

    def run(self) -> None:
        heapq.heapify(self.due)
        while self.due:
            now, task, tries = heapq.heappop(self.due)
            match admit(self.receivers, HOOK, owed_since=NOW, now=now):
                case PutOff(until):
                    assert until > now
                    heapq.heappush(self.due, (until, task, tries))
                case Go() as went:
                    self._attempt(went, now, task, tries)
                case GiveUp():
                    self.given_up += 1

    def _attempt(self, went: Go, now: int, task: int, tries: int) -> None:
        attempt = UP if now >= self.up_at else DOWN
        note(self.receivers, HOOK, went, attempt, now=now, draw=self.draw())
        match decide(attempt, tries, now=now, draw=self.draw()):
            case Delivered():
                self.delivered.append(now)
            case TryAt(when):
                self.failures += 1
                heapq.heappush(self.due, (when, task, tries + 1))
            case GiveUp():
                self.given_up += 1
