"""A receiver is out for the whole of a run, and then back: nothing is lost, and there is no storm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from taskgate.gateway.delivering import Attempt, Reason
from taskgate.receivers import FAILURES, LAST_PROBE_MS, SLOT_MS
from taskgate.task import CallbackState
from tests.unit.gateway.test_settling import Post, callback

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


def test_after_an_outage_of_hours_200_callbacks_are_delivered_none_lost_at_a_bounded_rate(
    tmp_path: Path,
) -> None:
    post = Post()
    outage = Outage(post)
    object.__setattr__(post.outbox, "courier", outage)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(TASKS)]
    while any(post.task(task.id).owes for task in tasks):
        post.outbox.errands_due(range(16), post.world.clock() + 50_000)
        for task_id, _ in post.errands.take():
            post.outbox.settle(task_id)
        post.world.clock.advance(1)
        assert post.world.clock() < outage.back_at + 3600_000
    states = {post.task(task.id).callback.state for task in tasks}  # type: ignore[union-attr]
    assert states == {CallbackState.DELIVERED}
    assert len(outage.delivered) == TASKS
    a_second = max(Counter(at // 1000 for at in outage.delivered).values())
    first, last = (at - outage.back_at for at in (outage.delivered[0], outage.delivered[-1]))
    print(  # noqa: T201 - the figures are the show
        f"out for {OUTAGE_MS // 3600_000} h: asked {len(outage.asked)} times; then {TASKS} delivered,"
        f" the first after {first // 1000} s, the last after {last // 1000} s, at most {a_second} a second"
    )
    # While it was out: a few to find that out, then one probe at a time.
    assert len(outage.asked) <= FAILURES + 10 + OUTAGE_MS // (LAST_PROBE_MS // 2)
    assert a_second <= 1000 // SLOT_MS + FAILURES
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
