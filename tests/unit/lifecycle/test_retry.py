"""The retry decision: budgets apart, full jitter, never past the deadline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgate.errors import BadSetting
from taskgate.lifecycle.retry import (
    Budget,
    Budgets,
    ErrorClass,
    GiveUp,
    RetryAt,
    RetryPolicy,
    decide,
)

POLICY = RetryPolicy(base=2, factor=2, cap=60)
NOW, DEADLINE = 1_000_000, 100_000_000


def _decide(
    error_class: ErrorClass = ErrorClass.TRANSIENT,
    budgets: Budgets | None = None,
    draw: float = 0.5,
    retry_after: float | None = None,
    deadline_at: int = DEADLINE,
) -> RetryAt | GiveUp:
    return decide(
        error_class,
        budgets or Budgets(),
        POLICY,
        now=NOW,
        deadline_at=deadline_at,
        draw=draw,
        retry_after=retry_after,
    )


def test_a_permanent_error_is_never_retried() -> None:
    assert isinstance(_decide(ErrorClass.PERMANENT), GiveUp)


@pytest.mark.parametrize(
    "error_class", [ErrorClass.TRANSIENT, ErrorClass.CRASH, ErrorClass.INTERRUPTION]
)
def test_each_class_spends_its_own_budget_only(error_class: ErrorClass) -> None:
    spent = Budgets().spend(error_class)
    total = sum(b.spent for b in (spent.retries, spent.crashes, spent.interruptions))
    assert (total, spent.of(error_class).spent) == (1, 1)


def test_a_spent_budget_ends_it_and_says_which() -> None:
    budgets = Budgets(retries=Budget(3, 3))
    decision = _decide(budgets=budgets)
    assert decision == GiveUp("transient budget spent (3)")
    assert isinstance(_decide(ErrorClass.CRASH, budgets), RetryAt)


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 2))
def test_the_delay_is_drawn_from_the_whole_range_and_capped(draw: float, spent: int) -> None:
    decision = _decide(budgets=Budgets(retries=Budget(3, spent)), draw=draw)
    assert isinstance(decision, RetryAt)
    assert 0 <= decision.not_before - NOW <= min(60, 2 * 2**spent) * 1000


def test_the_upstream_is_never_asked_earlier_than_it_said() -> None:
    decision = _decide(draw=0.0, retry_after=30)
    assert decision == RetryAt(NOW + 30_000)


def test_a_try_that_would_start_after_the_deadline_is_not_made() -> None:
    assert isinstance(_decide(retry_after=10, deadline_at=NOW + 10_000), GiveUp)


@pytest.mark.parametrize("name", ["retries", "crashes", "interruptions"])
def test_a_budget_outside_its_bounds_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadSetting, match=f"retry.{name} is 101"):
        RetryPolicy(**{name: 101})
