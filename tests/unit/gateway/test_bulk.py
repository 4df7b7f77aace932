"""Bulk acts over the in-memory ports: shown, confirmed, done once each, resumed and stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from taskgate.bulks import Bulk, BulkAct, BulkState, Wanted
from taskgate.catalog import CATALOG
from taskgate.errors import (
    BadConfirmToken,
    BulkNotFound,
    InvalidRequest,
    MissingScope,
    TaskNotFound,
    VerbNotAllowed,
)
from taskgate.gateway.office import bulk as bulk_acts
from taskgate.gateway.office import bulk_working
from taskgate.gateway.office.bulk import DryRun
from taskgate.gateway.office.bulk_finding import PAGE
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner
from taskgate.testing.faults import Crash
from tests.unit.functions.api_world import ADA, EVE, PROMPT, ApiWorld

OLGA = Principal(Owner("taskgate", "olga"), SCOPES, 1, "aws")
BOB = Principal(Owner("acme", "bob"), SCOPES - {"operator"}, 1, "k4")
EVA = Principal(Owner("evil", "eva"), SCOPES - {"operator"}, 1, "k5")
BO = Principal(Owner("taskgate", "bo"), SCOPES, 1, "aws")
SHARDS = 16
FAR = 60_000
ACME = Wanted(tenant="acme")
HOOKED = {**PROMPT, "callback_url": "https://example.com/taskgate"}


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


def plan(api: ApiWorld, act: BulkAct, wanted: Wanted = ACME, who: Principal = OLGA) -> DryRun:
    return bulk_acts.plan(api.world.ports, who, act, wanted, "the model is fixed", SHARDS)


def confirmed(api: ApiWorld, act: BulkAct, wanted: Wanted = ACME) -> Bulk:
    dry = plan(api, act, wanted)
    return bulk_acts.confirm(api.world.ports, OLGA, dry.bulk.id, dry.token)


def work(api: ApiWorld) -> int:
    ports = api.world.ports
    return bulk_working.work(ports, CATALOG, SHARDS, ports.now() + FAR)


def now_of(api: ApiWorld, bulk: Bulk) -> Bulk:
    return bulk_acts.found(api.world.ports, OLGA, bulk.id)


def failed(api: ApiWorld, count: int, caller: Principal = ADA) -> list[str]:
    caller = replace(caller, max_pending=1000)
    ids = [api.submitted(caller=caller) for _ in range(count)]
    for _ in ids:
        api.fail(api.claim())
    api.world.clock.advance(1)
    return ids


def waiting(api: ApiWorld, count: int, caller: Principal = ADA) -> list[str]:
    caller = replace(caller, max_pending=1000)
    ids = [api.submitted(caller=caller) for _ in range(count)]
    api.world.clock.advance(1)
    return ids


def test_a_dry_run_counts_shows_a_sample_says_the_cost_and_changes_nothing(api: ApiWorld) -> None:
    waiting(api, 45)
    before = dict(api.tasks)
    dry = plan(api, BulkAct.CANCEL)
    assert (dry.bulk.count, dry.bulk.counted_all, len(dry.sample)) == (45, True, 10)
    assert (dry.calls, dry.minutes) == (135, 1)
    assert api.tasks == before
    assert work(api) == 0


def test_a_confirmed_cancel_ends_all_that_fit_and_no_others(api: ApiWorld) -> None:
    mine, theirs = waiting(api, 30), waiting(api, 3, EVE)
    bulk = confirmed(api, BulkAct.CANCEL)
    later = api.submitted()
    assert work(api) == 30
    assert {api.world.state(i) for i in mine} == {State.CANCELED}
    assert {api.world.state(i) for i in [*theirs, later]} == {State.QUEUED}
    after = now_of(api, bulk)
    assert (after.state, after.done, after.left) == (BulkState.DONE, 30, 0)
    entry = api.tasks[mine[0]].history[-1]
    assert (entry.verb, entry.actor) == (Verb.CANCEL, "operator:olga/aws")
    assert entry.reason == f"{bulk.id}: the model is fixed"


def test_no_owner_shields_a_task_by_writing_the_acts_id_into_a_reason(api: ApiWorld) -> None:
    (task_id,) = waiting(api, 1)
    bulk = confirmed(api, BulkAct.CANCEL)
    reason = {"reason": f"{bulk.id}: the model is fixed"}
    moved = api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low", **reason})
    assert moved.status == 200
    assert work(api) == 1
    assert api.world.state(task_id) is State.CANCELED


def test_what_ended_badly_is_reopened_by_code_and_day(api: ApiWorld) -> None:
    ids = failed(api, 25)
    since = Wanted(since=0 if not ids else api.tasks[ids[0]].created_at, code=ErrorCode.POISON)
    assert plan(api, BulkAct.REOPEN, since).bulk.count == 0
    confirmed(api, BulkAct.REOPEN, replace(since, code=ErrorCode.INVALID_INPUT))
    assert work(api) == 25
    assert {api.world.state(i) for i in ids} == {State.QUEUED}
    assert api.world.lanes.total() == 25


def test_callbacks_of_a_user_are_owed_once_more(api: ApiWorld) -> None:
    task_id = api.submitted(HOOKED)
    api.fail(api.claim())
    api.settle()
    api.world.clock.advance(1)
    confirmed(api, BulkAct.REDELIVER, Wanted(tenant="acme", user="ada"))
    assert work(api) == 1
    redelivered = [e for e in api.tasks[task_id].history if e.verb is Verb.REDELIVER]
    assert [entry.actor for entry in redelivered] == ["operator:olga/aws"]
    assert work(api) == 0


def test_about_two_hundred_tasks_a_minute_and_the_rest_in_the_next(api: ApiWorld) -> None:
    waiting(api, 230)
    bulk = confirmed(api, BulkAct.CANCEL)
    first = work(api)
    assert 200 <= first < 200 + PAGE
    half = now_of(api, bulk)
    assert (half.state, half.done, half.left) == (BulkState.RUNNING, first, 230 - first)
    assert work(api) == 230 - first
    assert now_of(api, bulk).state is BulkState.DONE


@pytest.mark.parametrize("act", [BulkAct.CANCEL, BulkAct.REOPEN], ids=str)
def test_a_run_that_dies_anywhere_is_taken_up_and_does_no_task_twice(
    api: ApiWorld, act: BulkAct, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = waiting(api, 45) if act is BulkAct.CANCEL else failed(api, 45)
    day = None if act is BulkAct.CANCEL else "2026-09-21"
    bulk = confirmed(api, act, Wanted(tenant="acme", day=day))
    assert bulk.count == 45
    real: Callable[..., Any] = bulk_working._VERBS[act]
    dies = iter(n in {7, 8, 33} for n in range(1000))

    def mortal(*arguments: Any) -> None:
        real(*arguments)
        if next(dies):
            raise Crash

    monkeypatch.setitem(bulk_working._VERBS, act, mortal)
    for _ in range(12):
        try:
            work(api)
        except Crash:
            assert work(api) == 0, "nobody else works on it while its lease lasts"
        api.world.clock.advance(91)
    after = now_of(api, bulk)
    verb = Verb.CANCEL if act is BulkAct.CANCEL else Verb.REOPEN
    assert [sum(e.verb is verb for e in api.tasks[i].history) for i in ids] == [1] * 45
    assert after.state is BulkState.DONE
    assert after.failed == {}


def test_one_that_is_stopped_does_no_further_page(api: ApiWorld) -> None:
    waiting(api, 230)
    bulk = confirmed(api, BulkAct.CANCEL)
    done = work(api)
    stopped = bulk_acts.stop(api.world.ports, OLGA, bulk.id)
    assert (stopped.state, stopped.done) == (BulkState.STOPPED, done)
    assert done < 230
    assert work(api) == 0
    assert bulk_acts.stop(api.world.ports, OLGA, bulk.id) == stopped


def test_a_plan_that_was_stopped_before_it_began_is_not_confirmed_in_silence(api: ApiWorld) -> None:
    waiting(api, 3)
    dry = plan(api, BulkAct.CANCEL)
    bulk_acts.stop(api.world.ports, OLGA, dry.bulk.id)
    with pytest.raises(BadConfirmToken, match="stopped before it began"):
        bulk_acts.confirm(api.world.ports, OLGA, dry.bulk.id, dry.token)
    assert work(api) == 0


def test_a_second_confirm_starts_nothing_anew(api: ApiWorld) -> None:
    waiting(api, 3)
    dry = plan(api, BulkAct.CANCEL)
    ports = api.world.ports
    first = bulk_acts.confirm(ports, OLGA, dry.bulk.id, dry.token)
    work(api)
    again = bulk_acts.confirm(ports, OLGA, dry.bulk.id, dry.token)
    assert (first.state, again.state, again.done) == (BulkState.RUNNING, BulkState.DONE, 3)
    assert work(api) == 0


def test_a_token_of_another_plan_operator_or_time_confirms_nothing(api: ApiWorld) -> None:
    waiting(api, 2)
    dry, other = plan(api, BulkAct.CANCEL), plan(api, BulkAct.CANCEL, Wanted(type="x"))
    ports = api.world.ports
    for who, token in ((OLGA, other.token), (OLGA, ""), (OLGA, "é"), (BO, dry.token)):
        with pytest.raises(BadConfirmToken):
            bulk_acts.confirm(ports, who, dry.bulk.id, token)
    api.world.clock.advance(601)
    with pytest.raises(BadConfirmToken, match="too old"):
        bulk_acts.confirm(ports, OLGA, dry.bulk.id, dry.token)
    with pytest.raises(BulkNotFound):
        bulk_acts.confirm(ports, OLGA, "bulk_none", dry.token)
    assert work(api) == 0


def test_an_administrators_act_ends_at_the_own_tenant(api: ApiWorld) -> None:
    mine, theirs = waiting(api, 3), waiting(api, 3, EVE)
    ports, every_waiting = api.world.ports, Wanted(states=frozenset({State.QUEUED}))
    dry = plan(api, BulkAct.CANCEL, every_waiting, BOB)
    assert (dry.bulk.count, dry.bulk.wanted.tenant) == (3, "acme")
    bulk_acts.confirm(ports, BOB, dry.bulk.id, dry.token)
    assert work(api) == 3
    assert {api.world.state(i) for i in mine} == {State.CANCELED}
    assert {api.world.state(i) for i in theirs} == {State.QUEUED}
    assert api.tasks[mine[0]].history[-1].actor == "admin:bob/k4"
    with pytest.raises(MissingScope):
        plan(api, BulkAct.CANCEL, Wanted(tenant="evil"), BOB)
    with pytest.raises(InvalidRequest):
        plan(api, BulkAct.CANCEL, Wanted(), BOB)


def test_whoever_works_for_an_administrator_reaches_no_other_tenant_whatever_the_filter(
    api: ApiWorld,
) -> None:
    """The filter is the first wall; the rights with which it is worked are the second."""
    [theirs] = waiting(api, 1, EVE)
    dry = plan(api, BulkAct.CANCEL, ACME, BOB)
    forged = replace(dry.bulk, wanted=replace(dry.bulk.wanted, tenant="evil"))
    api.world.bulks.write_bulk(forged)
    bulk_acts.confirm(api.world.ports, BOB, forged.id, forged.token())
    assert work(api) == 0
    assert api.world.state(theirs) is State.QUEUED
    assert list(now_of(api, forged).failed) == [str(TaskNotFound())]


def test_an_administrator_sees_and_stops_what_the_own_tenant_planned_and_nothing_else(
    api: ApiWorld,
) -> None:
    ports = api.world.ports
    own, other = plan(api, BulkAct.CANCEL, who=BOB), plan(api, BulkAct.CANCEL)
    assert bulk_acts.recent(ports, BOB).rows == [own.bulk]
    assert {b.id for b in bulk_acts.recent(ports, OLGA).rows} == {own.bulk.id, other.bulk.id}
    assert bulk_acts.recent(ports, EVA).rows == []
    for who, dry in ((EVA, own), (BOB, other)):
        with pytest.raises(BulkNotFound):
            bulk_acts.found(ports, who, dry.bulk.id)
        with pytest.raises(BulkNotFound):
            bulk_acts.confirm(ports, who, dry.bulk.id, dry.token)
        with pytest.raises(BulkNotFound):
            bulk_acts.stop(ports, who, dry.bulk.id)
    assert bulk_acts.stop(ports, BOB, own.bulk.id).state is BulkState.STOPPED


def test_a_list_goes_on_behind_pages_of_others(api: ApiWorld) -> None:
    own = plan(api, BulkAct.CANCEL, who=BOB)
    api.world.clock.advance(1)
    for _ in range(205):
        plan(api, BulkAct.CANCEL)
        api.world.clock.advance(1)
    ports = api.world.ports
    page = bulk_acts.recent(ports, BOB)
    assert (page.rows, page.next is None) == ([], False)
    found = []
    while page.next:
        page = bulk_acts.recent(ports, BOB, page.next)
        found += page.rows
    assert found == [own.bulk]


def test_one_who_may_not_change_tasks_may_not_plan_to(api: ApiWorld) -> None:
    with pytest.raises(MissingScope):
        plan(api, BulkAct.CANCEL, who=replace(OLGA, scopes=SCOPES - {"tasks:write"}))


def test_nobody_else_plans_confirms_reads_or_stops(api: ApiWorld) -> None:
    dry, ports = plan(api, BulkAct.CANCEL), api.world.ports
    asked: tuple[Callable[[], object], ...] = (
        lambda: plan(api, BulkAct.CANCEL, who=ADA),
        lambda: bulk_acts.confirm(ports, ADA, dry.bulk.id, dry.token),
        lambda: bulk_acts.found(ports, ADA, dry.bulk.id),
        lambda: bulk_acts.stop(ports, ADA, dry.bulk.id),
    )
    for ask in asked:
        with pytest.raises(MissingScope):
            ask()


WRONG = (
    (BulkAct.CANCEL, Wanted(), "filter"),
    (BulkAct.CANCEL, Wanted(user="ada"), "tenant"),
    (BulkAct.CANCEL, Wanted(states=frozenset({State.FAILED})), "states"),
    (BulkAct.REOPEN, ACME, "since"),
    (BulkAct.REOPEN, Wanted(since=1), "since"),
    (BulkAct.REOPEN, Wanted(day="yesterday"), "day"),
    (BulkAct.REDELIVER, ACME, "states"),
)


@pytest.mark.parametrize(("act", "wanted", "field"), WRONG)
def test_a_filter_that_no_index_serves_is_refused_by_the_field(
    api: ApiWorld, act: BulkAct, wanted: Wanted, field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        plan(api, act, wanted)
    assert [f.field for f in refused.value.fields] == [field]


def test_a_task_that_cannot_be_told_of_is_counted_with_the_reason_and_holds_up_no_other(
    api: ApiWorld,
) -> None:
    for body in (PROMPT, HOOKED):
        api.submitted(body)
        api.fail(api.claim())
    api.settle()
    api.world.clock.advance(1)
    bulk = confirmed(api, BulkAct.REDELIVER, Wanted(tenant="acme", user="ada"))
    assert work(api) == 1
    after = now_of(api, bulk)
    assert (after.done, sum(after.failed.values()), after.state) == (1, 1, BulkState.DONE)


def test_a_task_that_each_round_meets_and_leaves_is_counted_once(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn, *_ = waiting(api, 5)
    real: Callable[..., Any] = bulk_working._VERBS[BulkAct.CANCEL]
    tries = []

    def refusing(*arguments: Any) -> None:
        if arguments[3].id == stubborn:
            tries.append(stubborn)
            raise VerbNotAllowed("it moved on")
        real(*arguments)

    monkeypatch.setitem(bulk_working._VERBS, BulkAct.CANCEL, refusing)
    bulk = confirmed(api, BulkAct.CANCEL)
    assert work(api) == 4
    after = now_of(api, bulk)
    assert len(tries) == bulk_working.MAX_ROUNDS
    assert (after.done, dict(after.failed), after.left) == (4, {"it moved on": 1}, 0)


def test_a_task_that_a_later_round_acts_on_was_not_left(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, *_ = waiting(api, 5)
    real: Callable[..., Any] = bulk_working._VERBS[BulkAct.CANCEL]
    moved = [VerbNotAllowed("it moved on")]

    def refusing_once(*arguments: Any) -> None:
        if arguments[3].id == late and moved:
            raise moved.pop()
        real(*arguments)

    monkeypatch.setitem(bulk_working._VERBS, BulkAct.CANCEL, refusing_once)
    bulk = confirmed(api, BulkAct.CANCEL)
    assert work(api) == 5
    after = now_of(api, bulk)
    assert (after.done, dict(after.failed)) == (5, {})


def test_of_many_reasons_few_are_named_and_the_item_stays_small(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(api, 30)

    def refusing(*arguments: Any) -> None:
        raise VerbNotAllowed(f"for a reason of {arguments[3].id}")

    monkeypatch.setitem(bulk_working._VERBS, BulkAct.CANCEL, refusing)
    monkeypatch.setattr(bulk_working, "MAX_REFUSED", 20)
    bulk = confirmed(api, BulkAct.CANCEL)
    assert work(api) == 0
    after = now_of(api, bulk)
    assert len(after.failed) == bulk_working.MAX_REASONS + 1
    assert sum(map(len, after.refused.values())) == 20
    assert sum(after.failed.values()) == 30 + 2 * 10, "those beyond are counted with each round"
