"""Cases of other projects about hot keys of indexes (B74, B75): how many writes one key would get.

A life is really lived; each of its writes is counted as DynamoDB counts it for a sparse index of
keys: none when the entry stays, one when it comes or goes, two when it moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from taskgate.aws.codec import encode
from taskgate.gateway.stamps import new_task_id
from taskgate.gateway.sweep import sweeping
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.states import State
from taskgate.settings import STAGES
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import Task
from taskgate.testing.aws_resources import INDEXES
from taskgate.testing.factories import T0, task_in
from taskgate.testing.memory import MemoryWorld
from tests.unit.gateway.test_settling import PERMANENT, Post, callback
from tests.unit.gateway.test_worker_gateway import claimed, gateway, submitted

SHARDS = STAGES["prod"].clock_shards
MOST_WRITES_OF_A_KEY = 1000
"""A second, of one partition, on demand too."""
LIVES_A_SECOND = 2000
Keys = Mapping[str, tuple[str, str] | None]


def entries(task: Task | None) -> Keys:
    """What each index holds of the task."""
    item = encode(task, SHARDS) if task else {}
    return {
        name: (str(item[partition]), str(item[sort])) if {partition, sort} <= set(item) else None
        for name, ((partition, _), (sort, _)) in INDEXES.items()
    }


@dataclass
class Counting:
    """Counts what a world's writes cost each index."""

    writes: Counter[str] = field(default_factory=Counter)
    last: dict[str, Task] = field(default_factory=dict)

    def watch(self, world: MemoryWorld, patch: pytest.MonkeyPatch) -> None:
        real: Callable[[Change], Task] = world.tasks.apply
        self.last.update(world.tasks.tasks)

        def applied(change: Change) -> Task:
            self._note(world.tasks.tasks.get(change.task_id))
            after = real(change)
            self._note(after)
            return after

        patch.setattr(world.tasks, "apply", applied)

    def _note(self, task: Task | None) -> None:
        if task is None:
            return
        before, after = entries(self.last.get(task.id)), entries(task)
        for name, entry in after.items():
            if entry != before[name]:
                self.writes[name] += (before[name] is not None) + (entry is not None)
        self.last[task.id] = task


def _largest_share(shards: int) -> float:
    """Of ids as they are made, the share of the shard that gets the most."""
    made = Counter(shard_of(new_task_id(T0 + n), shards) for n in range(50_000))
    return max(made.values()) / made.total()


def test_two_thousand_ends_a_second_throttle_no_key_of_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counting, post = Counting(), Post()
    counting.watch(post.world, monkeypatch)
    task = submitted(post.world)
    gateway(post.world).succeed(claimed(post.world), [], "{}")
    post.outbox.settle(task.id)
    assert post.task(task.id).due_at is None
    assert counting.writes["by_clock"] > 1
    assert counting.writes["by_user"] == 1, "made once, and never touched again"
    a_second = LIVES_A_SECOND * counting.writes["by_clock"] * _largest_share(SHARDS)
    assert a_second < MOST_WRITES_OF_A_KEY


def test_two_thousand_failures_a_second_throttle_no_key_of_the_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, counting = MemoryWorld(), Counting()
    counting.watch(world, monkeypatch)
    submitted(world)
    gateway(world).fail(claimed(world), PERMANENT)
    assert counting.writes["by_problem"] == 1
    assert LIVES_A_SECOND * _largest_share(PROBLEM_SHARDS) < MOST_WRITES_OF_A_KEY


def test_a_settled_task_stands_in_no_index_but_its_owners() -> None:
    post = Post()
    task = submitted(post.world)
    gateway(post.world).succeed(claimed(post.world), [], "{}")
    while post.outbox.settle(task.id) not in {"nothing_owed", "not_due"}:
        pass
    known = {name: entry for name, entry in entries(post.task(task.id)).items() if entry}
    assert set(known) == {"by_user"}


@pytest.mark.parametrize("state", list(State))
def test_no_index_has_a_bare_state_for_a_key(state: State) -> None:
    for entry in entries(task_in(state, callback=callback())).values():
        assert entry is None or state.value not in entry[0]


def test_a_beat_moves_no_index_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    world, counting = MemoryWorld(), Counting()
    submitted(world)
    held = claimed(world)
    counting.watch(world, monkeypatch)
    for n in range(100):
        world.clock.advance(1)
        gateway(world).report(held, n / 100, "drawing")
    assert not counting.writes
    sweeping.sweep(world.ports, range(world.clock_shards), world.clock() + 55_000)
    assert counting.writes["by_clock"] <= 2
