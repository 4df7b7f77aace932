"""A receiver is out for the whole of a run, and then back: nothing is lost, and there is no storm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.receivers import FAILURES, LAST_PROBE_MS, LATE_MS, SLOT_MS, receiver_at
from taskgate.task import CallbackState
from tests.unit.gateway.test_settling import URL, Post, callback

TASKS = 200
OUTAGE_MS = 3 * 3600_000


class Outage:
    """A receiver that answers nothing until it is back; keeps the time of each request."""

    def __init__(self, post: Post) -> None:
        self._clock = post.world.clock
        self.back_at = self._clock() + OUTAGE_MS
        self.asked: list[int] = []
        self.delivered: list[int] = []

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        now = self._clock()
        if now < self.back_at:
            self.asked.append(now)
            return Attempt(None, Reason.CONNECT, 1)
        self.delivered.append(now)
        return Attempt(204, Reason.OK, 1)


def look(post: Post) -> None:
    """The outbox as it is woken: by errands when they are due, by the backstop each minute.

    Invocations run side by side; here they wait one after another, which is the same when those
    whose time comes first go first.
    """
    clock = post.world.clock
    ready = sorted(post.errands.take(), key=lambda errand: post.task(errand[0]).owed_at or 0)
    for task_id, _ in ready:
        post.outbox.settle(task_id)
    if not ready:
        minute = (clock() // 60_000 + 1) * 60_000
        clock.advance((min([at for at, _, _ in post.errands.sent] + [minute]) - clock()) / 1000)
        if clock() == minute:
            post.outbox.errands_due(range(16), clock() + 50_000)


def busiest(times: Sequence[int]) -> int:
    """The most in any second, wherever it begins."""
    return max(sum(at <= other < at + 1000 for other in times) for at in times)


def test_after_an_outage_of_hours_200_callbacks_are_delivered_none_lost_at_a_bounded_rate(
    tmp_path: Path,
) -> None:
    post = Post()
    outage = Outage(post)
    object.__setattr__(post.outbox, "courier", outage)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(TASKS)]
    while any(post.task(task.id).owes for task in tasks):
        look(post)
        assert post.world.clock() < outage.back_at + 3600_000
    states = {post.task(task.id).callback.state for task in tasks}  # type: ignore[union-attr]
    assert states == {CallbackState.DELIVERED}
    assert len(outage.delivered) == TASKS
    a_second = busiest(outage.delivered)
    first, last = (at - outage.back_at for at in (outage.delivered[0], outage.delivered[-1]))
    print(  # noqa: T201 - the figures are the show
        f"out for {OUTAGE_MS // 3600_000} h: asked {len(outage.asked)} times; then {TASKS} delivered,"
        f" the first after {first // 1000} s, the last after {last // 1000} s, at most {a_second} a second"
    )
    # While it was out: a few to find that out, then one probe at a time.
    assert len(outage.asked) <= FAILURES + 10 + OUTAGE_MS // (LAST_PROBE_MS // 2)
    # In any second, wherever it begins. The probe is the one more.
    assert a_second <= 1000 // SLOT_MS + 1
    # A message is delayed by whole seconds, and yet those of one second are not sent together.
    gaps = [later - earlier for earlier, later in pairwise(outage.delivered[1:])]
    assert min(gaps) >= SLOT_MS
    assert first <= LAST_PROBE_MS


def test_fifty_debts_of_which_the_first_hangs_make_one_request_each(tmp_path: Path) -> None:
    post = Post()
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(50)]
    asked: Counter[str] = Counter()

    def courier(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        asked[headers["webhook-id"]] += 1
        if len(asked) > 1:
            return Attempt(204, Reason.OK, 1)
        # While this one hangs, another copy of the outbox is woken, sees all 50 and settles them.
        for _ in range(2):
            post.world.clock.advance(5)
            post.outbox.errands_due(range(16), post.world.clock() + 50_000)
            for task_id, _ in post.errands.take():
                post.outbox.settle(task_id)
        return Attempt(None, Reason.TIMEOUT, 10_000)

    object.__setattr__(post.outbox, "courier", courier)
    assert post.outbox.settle(tasks[0].id) == "failed"
    assert len(asked) == 50
    assert set(asked.values()) == {1}


def test_a_queue_that_is_late_and_what_ends_meanwhile_make_no_storm(tmp_path: Path) -> None:
    post = Post()
    outage = Outage(post)
    object.__setattr__(post.outbox, "courier", outage)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(30)]
    for task in tasks:
        post.outbox.settle(task.id)
    assert len(outage.asked) == FAILURES
    # The queue brings all of them at once, long after their slots, and the receiver is back.
    post.world.clock.advance(45)
    outage.back_at = 0
    tasks += [post.succeeded(tmp_path, callback=callback()) for _ in range(10)]
    for task in tasks:
        post.outbox.settle(task.id)
    assert len(outage.delivered) == 40
    gaps = [later - earlier for earlier, later in pairwise(outage.delivered[1:])]
    assert min(gaps) >= SLOT_MS


def test_a_receiver_whose_backlog_is_long_gone_costs_one_read_again(tmp_path: Path) -> None:
    post = Post()
    task = post.succeeded(tmp_path, callback=callback())
    receiver = receiver_at("acme", URL)
    post.receivers.line_up(receiver, post.world.clock() - LATE_MS - SLOT_MS, SLOT_MS)
    post.outbox.settle(task.id)
    assert list(post.receivers.lines) == [receiver]
