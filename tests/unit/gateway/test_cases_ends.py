"""Every way in which a task can end is told once (case B104 of docs/explanation/cases-callbacks.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from taskgate.gateway.steer import operating, steering
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.duties import ANNOUNCED
from taskgate.lifecycle.states import State
from taskgate.task import CancelMode, Task
from tests.unit.gateway.test_settling import PERMANENT, Post, callback
from tests.unit.gateway.test_worker_gateway import CRASHED, WHO, claimed, gateway


def _fail_until_nothing_is_left(post: Post, _: Task) -> None:
    for _try in range(3):
        gateway(post.world, draw=0.0).fail(claimed(post.world), CRASHED)


def _worker_is_lost(post: Post, task: Task) -> None:
    claimed(post.world)
    _left_to_the_sweep(post, task)


def _left_to_the_sweep(post: Post, task: Task) -> None:
    for _minute in range(24 * 60):
        post.world.clock.advance(60)
        sweeping.sweep(post.world.ports, range(16), post.world.clock() + 50_000)
        if post.world.state(task.id).ended:
            return


def _cancel(post: Post, task: Task) -> None:
    steering.cancel(post.world.ports, WHO, task.id, CancelMode.HARD)


def _cancel_what_runs(post: Post, task: Task) -> None:
    held = claimed(post.world)
    _cancel(post, task)
    gateway(post.world).stopped(held)


def _cancel_what_does_not_listen(post: Post, task: Task) -> None:
    claimed(post.world)
    _cancel(post, task)
    _left_to_the_sweep(post, task)


def _fail_a_suspect_by_hand(post: Post, task: Task) -> None:
    claimed(post.world)
    post.world.clock.advance(46)
    sweeping.sweep(post.world.ports, range(16), post.world.clock() + 50_000)
    operating.fail(post.world.ports, WHO, task.id, "enough")


WAYS: Final[Mapping[str, tuple[Callable[[Post, Task], object], State]]] = {
    "success": (lambda p, _: gateway(p.world).succeed(claimed(p.world), [], None), State.SUCCEEDED),
    "an error for good": (
        lambda p, _: gateway(p.world).fail(claimed(p.world), PERMANENT),
        State.FAILED,
    ),
    "attempts used up": (_fail_until_nothing_is_left, State.FAILED),
    "by hand": (_fail_a_suspect_by_hand, State.FAILED),
    "its worker lost": (_worker_is_lost, State.TIMED_OUT),
    "waited too long": (_left_to_the_sweep, State.TIMED_OUT),
    "canceled in its lane": (_cancel, State.CANCELED),
    "canceled while it ran": (_cancel_what_runs, State.CANCELED),
    "canceled by force": (_cancel_what_does_not_listen, State.CANCELED),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_end_is_told_once_by_its_own_event(way: str) -> None:
    post = Post()
    task = post.submitted(callback=callback(*ANNOUNCED.values()))
    end, state = WAYS[way]
    end(post, task)
    assert post.world.state(task.id) is state
    post.run()
    told = [json.loads(body) for _, _, body in post.letters.sent]
    assert [(event["type"], event["data"]["id"]) for event in told] == [(ANNOUNCED[state], task.id)]
