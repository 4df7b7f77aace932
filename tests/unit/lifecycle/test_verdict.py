"""What a look at a due task leads to, state by state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import ENDED, LIVE, State
from taskgate.lifecycle.verdict import ClaimStep, Step, judge, judge_refusal
from taskgate.task import CancelMode, CancelRequest
from taskgate.testing.factories import LIMITS, T0, task_in

LEASE = LIMITS.lease
NO_CRASHES_LEFT = Budgets(crashes=Budget(2, 2))


def _due(state: State, **fields: object):
    return task_in(state, due_at=T0, **fields)


@pytest.mark.parametrize("state", sorted(ENDED))
def test_an_ended_task_is_left_alone(state: State) -> None:
    assert judge(task_in(state), None, T0 + 10**12) is None


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_task_that_is_not_due_is_left_alone(state: State) -> None:
    task = task_in(state)
    assert task.due_at is not None
    assert judge(task, None, task.due_at - 1) is None


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_task_that_is_due_always_gets_a_step(state: State) -> None:
    task = task_in(state)
    assert task.due_at is not None
    assert judge(task, None, task.due_at) is not None


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_task_past_its_whole_life_moves_towards_its_end(state: State) -> None:
    task = task_in(state)
    verdict = judge(task, None, task.deadline_at)
    assert verdict is not None
    assert verdict.step in {Step.EXPIRE, Step.STALL, Step.RESCUE, Step.STOP}


def test_a_beating_run_is_only_looked_at_again_later() -> None:
    verdict = judge(_due(State.PROCESSING), T0 + 100_000, T0 + 110_000)
    assert verdict is not None
    assert (verdict.step, verdict.look_at) == (Step.REARM, T0 + 100_000 + LEASE)


def test_a_silent_run_is_suspected_after_a_lease() -> None:
    verdict = judge(_due(State.PROCESSING), T0 + 100_000, T0 + 100_000 + LEASE)
    assert verdict is not None
    assert verdict.step is Step.STALL


def test_a_beating_run_past_its_limit_is_suspected() -> None:
    now = T0 + LIMITS.run_timeout
    verdict = judge(_due(State.PROCESSING), now - 1, now)
    assert verdict is not None
    assert verdict.step is Step.STALL


def test_a_suspect_that_beats_again_is_revived() -> None:
    verdict = judge(_due(State.STALLED), T0 + 5_000, T0 + 6_000)
    assert verdict is not None
    assert verdict.step is Step.REVIVE


def test_a_suspect_is_judged_only_after_its_grace() -> None:
    early = judge(_due(State.STALLED), None, T0 + LIMITS.stall_grace - 1)
    late = judge(_due(State.STALLED), None, T0 + LIMITS.stall_grace)
    assert early is not None
    assert late is not None
    assert early.step is Step.REARM
    assert late.step is Step.RESCUE
    assert late.error is not None
    assert (late.error.code, late.error.error_class) == (
        ErrorCode.HEARTBEAT_LOST,
        ErrorClass.CRASH,
    )


def test_a_run_that_was_too_long_ends_in_run_timeout_even_if_it_beats() -> None:
    now = T0 + LIMITS.run_timeout + LIMITS.stall_grace
    verdict = judge(_due(State.STALLED, since=T0 + LIMITS.run_timeout), now, now)
    assert verdict is not None
    assert verdict.error is not None
    assert (verdict.step, verdict.error.code) == (Step.RESCUE, ErrorCode.RUN_TIMEOUT)


@pytest.mark.parametrize("state", [State.CREATED, State.QUEUED, State.RETRYING, State.SCHEDULED])
def test_a_waiting_task_is_sent_again(state: State) -> None:
    task = _due(state)
    verdict = judge(task, None, T0 + 120_000)
    assert verdict is not None
    assert verdict.step is Step.SEND


def test_waiting_ends_only_by_the_stated_queue_limit() -> None:
    verdict = judge(_due(State.QUEUED), None, T0 + LIMITS.queue_timeout)
    assert verdict is not None
    assert verdict.error is not None
    assert (verdict.step, verdict.error.code) == (Step.EXPIRE, ErrorCode.QUEUE_TIMEOUT)


def test_a_cancel_that_no_worker_acknowledged_is_enforced_after_its_grace() -> None:
    verdict = judge(task_in(State.CANCELING), None, T0 + LIMITS.cancel_grace)
    assert verdict is not None
    assert verdict.step is Step.STOP


def test_a_cancel_is_repeated_to_a_worker_that_lives_and_then_enforced() -> None:
    now = T0 + LIMITS.cancel_grace
    verdict = judge(task_in(State.CANCELING), now, now)
    assert verdict is not None
    assert verdict.step is Step.SIGNAL
    now = T0 + 2 * LIMITS.cancel_grace
    verdict = judge(task_in(State.CANCELING), now, now)
    assert verdict is not None
    assert verdict.step is Step.STOP


def test_a_soft_cancel_lets_a_living_run_go_on() -> None:
    soft = CancelRequest(CancelMode.SOFT, ErrorCode.CANCELED_BY_USER, T0)
    now = T0 + 10 * LIMITS.cancel_grace
    verdict = judge(_due(State.CANCELING, cancel=soft), now, now)
    assert verdict is not None
    assert verdict.step is Step.SIGNAL


def test_a_refused_claim_of_a_live_workers_task_waits_for_the_rest_of_that_lease() -> None:
    verdict = judge_refusal(task_in(State.PROCESSING), T0 + 10_000, T0 + 20_000, receives=1)
    assert (verdict.step, verdict.hide_ms) == (ClaimStep.HIDE, LEASE - 10_000)


@pytest.mark.parametrize("state", [State.PROCESSING, State.STALLED])
def test_a_refused_claim_of_a_dead_workers_task_takes_it_over(state: State) -> None:
    verdict = judge_refusal(task_in(state), T0, T0 + LEASE, receives=2)
    assert verdict.step is ClaimStep.TAKE_OVER


def test_a_task_without_crash_budget_is_not_taken_over() -> None:
    task = task_in(State.PROCESSING, budgets=NO_CRASHES_LEFT)
    assert judge_refusal(task, None, T0 + LEASE, receives=2).step is ClaimStep.DROP


@pytest.mark.parametrize("state", [*sorted(ENDED), State.PAUSED, State.SCHEDULED, State.CANCELING])
def test_a_message_of_a_task_that_nobody_may_run_is_dropped(state: State) -> None:
    assert judge_refusal(task_in(state), None, T0, receives=1).step is ClaimStep.DROP


def test_a_message_that_came_too_early_waits_for_its_time() -> None:
    verdict = judge_refusal(task_in(State.RETRYING), None, T0 + 1_000, receives=1)
    assert (verdict.step, verdict.hide_ms) == (ClaimStep.HIDE, 4_000)


def test_an_older_message_of_a_waiting_task_still_serves() -> None:
    task = replace(task_in(State.QUEUED), attempt=3)
    assert judge_refusal(task, None, T0, receives=1).step is ClaimStep.CLAIM_AGAIN


def test_an_unknown_task_is_not_dropped_on_first_sight_and_not_kept_for_ever() -> None:
    assert judge_refusal(None, None, T0, receives=1).step is ClaimStep.HIDE
    assert judge_refusal(None, None, T0, receives=4).step is ClaimStep.DROP
