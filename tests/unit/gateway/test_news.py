"""News of a running task: sent once, on request, while it is true, and never instead of the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.outbox import news
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.states import State
from tests.unit.functions.documented import assert_announced
from tests.unit.gateway.test_settling import DOWN, OK, Post, callback
from tests.unit.gateway.test_worker_gateway import claimed, gateway

ASKED = callback("task.succeeded", news.STALLED, news.PROGRESS)


def told(post: Post) -> list[str]:
    return [json.loads(body)["type"] for _, _, body in post.letters.sent]


def run_errands(post: Post) -> None:
    for task_id, kind in post.errands.take():
        post.outbox.tell(task_id, kind) if kind else post.outbox.settle(task_id)


def stalled(post: Post) -> None:
    post.world.clock.advance(60)
    sweeping.sweep(post.world.ports, range(16), post.world.clock() + 50_000)


def test_progress_is_told_with_how_far_the_run_is() -> None:
    post = Post(OK)
    task = post.submitted(callback=ASKED)
    held = claimed(post.world)
    gateway(post.world).report(held, 0.25, "embed")
    run_errands(post)
    ((_, headers, body),) = post.letters.sent
    event = json.loads(body)
    assert (event["type"], event["data"]["id"]) == ("task.progress", task.id)
    assert (event["data"]["progress"], event["data"]["stage"]) == (0.25, "embed")
    assert event["data"]["generation"] == 0
    assert_announced(body)
    assert headers["webhook-id"] != f"msg_{task.id.removeprefix('task_')}_0"


def test_a_stall_is_told_when_it_is_suspected() -> None:
    post = Post(OK)
    post.submitted(callback=ASKED)
    claimed(post.world)
    stalled(post)
    run_errands(post)
    assert told(post) == ["task.stalled"]


def test_nothing_is_told_that_was_not_asked_for() -> None:
    post = Post()
    post.submitted(callback=callback())
    held = claimed(post.world)
    gateway(post.world).report(held, 0.5, "")
    stalled(post)
    assert post.errands.sent == []


def test_progress_that_comes_after_the_end_is_not_told() -> None:
    post = Post()
    post.submitted(callback=ASKED)
    held = claimed(post.world)
    gateway(post.world).report(held, 0.5, "")
    gateway(post.world).succeed(held, [], None)
    run_errands(post)
    assert told(post) == []
    post.run()
    assert told(post) == ["task.succeeded"]


def test_news_that_fails_is_not_tried_again_and_counts_for_no_attempt_of_the_end(
    tmp_path: Path,
) -> None:
    del tmp_path
    post = Post(DOWN, OK)
    task = post.submitted(callback=ASKED)
    held = claimed(post.world)
    gateway(post.world).report(held, 0.5, "")
    run_errands(post)
    assert post.errands.sent == []
    gateway(post.world).succeed(held, [], None)
    post.run()
    assert told(post) == ["task.progress", "task.succeeded"]
    done = post.task(task.id).callback
    assert done is not None
    assert done.tries == 1


def test_an_ill_receiver_is_not_bothered_with_news() -> None:
    post = Post(*[DOWN] * 5)
    post.submitted(callback=ASKED)
    held = claimed(post.world)
    for step in range(8):
        gateway(post.world).report(held, step / 10, "")
        run_errands(post)
    assert len(post.letters.sent) == 5


def test_a_queue_of_errands_that_is_away_never_costs_a_beat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post = Post()
    task = post.submitted(callback=ASKED)
    held = claimed(post.world)

    def away(task_id: str, delay: int, news: str | None = None) -> None:
        raise Unavailable

    monkeypatch.setattr(post.errands, "send", away)
    assert gateway(post.world).beat(held, 0.5, "") is None
    stalled(post)
    assert post.world.state(task.id) in {State.PROCESSING, State.STALLED}
