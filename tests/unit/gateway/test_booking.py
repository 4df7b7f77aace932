"""A user's books in several shards: the limit holds over all of them, and plans change meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.gateway.door import booking, submitting
from taskgate.plans import Plan
from taskgate.principal import Principal
from taskgate.shards import MOST_IN_LEDGER, room_in
from taskgate.testing.memory import MemoryStore
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting

CHAIN = {**PROMPT, "then": [{"type": "text_to_image", "input": PROMPT["input"]}]}


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


def who(shards: int, most: int = 12) -> Principal:
    """Ada, on a plan with so many shards."""
    return replace(ADA, plan=Plan(name="bulk", ledger_shards=shards), max_pending=most)


def refused(api: ApiWorld, caller: Principal) -> bool:
    answer = api.submit(caller=caller)
    assert answer.status in {202, 429}
    return answer.status == 429


def fill(api: ApiWorld, caller: Principal) -> int:
    """Submit until it is refused; how many were taken."""
    count = 0
    while not refused(api, caller):
        count += 1
    return count


def pending(api: ApiWorld) -> list[int]:
    return [n for _, n in sorted(api.world.tasks.pending(ADA.owner).items())]


@pytest.mark.parametrize("shards", [1, 2, 5, 12])
def test_a_limit_over_many_shards_takes_exactly_so_many(api: ApiWorld, shards: int) -> None:
    assert fill(api, who(shards)) == 12
    assert pending(api) == [room_in(12, shards, shard) for shard in range(shards)]
    assert api.world.tasks.ledger(ADA.owner).balanced


def test_a_key_with_a_limit_below_its_plans_shards_uses_no_more_than_it_may_fill(
    api: ApiWorld,
) -> None:
    assert fill(api, who(shards=8, most=3)) == 3
    assert pending(api) == [1, 1, 1]


def test_a_full_shard_sends_a_task_to_the_one_with_most_room_and_a_free_one_costs_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submitting, "shard_of", lambda task_id, shards: 1)
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    taken = [api.tasks[api.submitted(caller=who(4))].ledger_shard for _ in range(12)]
    assert taken == [1, 1, 1, 2, 3, 0, 2, 3, 0, 2, 3, 0]
    assert calls.count("tasks.pending") == 9
    assert calls.count("tasks.create") == 12 + 9


def test_those_who_lose_the_last_place_to_another_look_again(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read a moment ago says that there is room, and another has taken it."""
    fill(api, who(4, most=8))
    stale = iter([{0: 0, 1: 2, 2: 2, 3: 2}, {0: 2, 1: 0, 2: 2, 3: 2}])
    monkeypatch.setattr(MemoryStore, "pending", lambda store, owner: next(stale))
    assert refused(api, who(4, most=8))
    assert next(stale, None) is None
    assert api.world.tasks.ledger(ADA.owner).submitted == 8
    assert booking.TRIES == 3


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (2, 5), (5, 2)])
def test_a_plan_that_changes_while_tasks_run_loses_none_and_keeps_the_stated_bound(
    api: ApiWorld, before: int, after: int
) -> None:
    assert fill(api, who(before)) == 12
    more = fill(api, who(after))
    assert 0 < more < 12, "at most the limit again, until those of before have ended"
    for _ in range(12 + more):
        api.fail(api.claim())
    books = api.world.tasks.ledger(ADA.owner)
    assert (books.failed, books.active, books.balanced) == (12 + more, frozenset(), True)
    assert all(book.balanced for book in api.world.tasks.books.values())
    assert fill(api, who(after)) == 12


def test_a_follow_up_is_booked_where_its_parent_is(api: ApiWorld) -> None:
    parents = {api.submitted(CHAIN, caller=who(4)) for _ in range(6)}
    for _ in parents:
        api.fail(api.claim())
    api.settle()
    children = [task for task in api.tasks.values() if task.parent]
    assert {api.tasks[child.parent or ""].id for child in children} == parents
    for child in children:
        assert child.ledger_shard == api.tasks[child.parent or ""].ledger_shard
    assert all(book.balanced for book in api.world.tasks.books.values())


def test_an_owners_retry_keeps_within_the_room_of_the_shard_it_is_booked_in(api: ApiWorld) -> None:
    task_id = api.submitted(caller=who(4))
    api.fail(api.claim())
    fill(api, who(4))
    assert api.post(f"/v1/tasks/{task_id}/retry", {}, who(4)).status == 429
    for _ in range(12):
        api.fail(api.claim())
    assert api.post(f"/v1/tasks/{task_id}/retry", {}, who(4)).status == 200
    assert api.world.tasks.ledger(ADA.owner).balanced


def test_a_retry_after_the_plan_got_fewer_shards_has_a_place_in_its_old_one(api: ApiWorld) -> None:
    ids = [api.submitted(caller=who(4)) for _ in range(8)]
    for _ in ids:
        api.fail(api.claim())
    for task_id in ids:
        if api.tasks[task_id].ledger_shard > 0:
            retried = api.post(f"/v1/tasks/{task_id}/retry", {}, who(1))
            assert retried.status == 200
            api.fail(api.claim())
    assert all(book.balanced for book in api.world.tasks.books.values())


def test_the_books_of_all_shards_are_told_as_one(api: ApiWorld) -> None:
    fill(api, who(5))
    for _ in range(4):
        api.fail(api.claim())
    told = api.get("/v1/stats", who(1)).json
    assert (told["submitted"], told["failed"], told["active"]) == (12, 4, 8)


def test_no_shard_grows_until_its_item_can_end_no_task() -> None:
    assert room_in(1_000_000, 1, 0) == MOST_IN_LEDGER
    assert sum(room_in(1_000_003, 256, shard) for shard in range(256)) == 1_000_003


def test_one_shard_that_is_full_is_refused_without_a_further_look() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    assert fill(api, who(1)) == 12
    assert calls.count("tasks.create") == 13
    assert "tasks.pending" not in calls
