"""Every verb in every state: it leads where the table says, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from taskgate.errors import IllegalTransition
from taskgate.lifecycle import clock, transitions
from taskgate.lifecycle.change import Change, applied
from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import ENDED, HELD, LIVE, RULES, STAYING, State, Verb
from taskgate.lifecycle.transitions import Outcome
from taskgate.task import CancelMode, Task, TaskError
from taskgate.testing.factories import LIMITS, T0, stamp, task_in

NOW = T0 + 100_000
BROKEN = TaskError(ErrorCode.MODEL_ERROR, "no", ErrorClass.TRANSIENT)
LOST = TaskError(ErrorCode.HEARTBEAT_LOST, "gone", ErrorClass.CRASH)
LATE = TaskError(ErrorCode.RUN_TIMEOUT, "late", ErrorClass.PERMANENT)
POISON = TaskError(ErrorCode.POISON, "its messages die", ErrorClass.PERMANENT)
BROKE = Budgets(Budget(3, 3), Budget(2, 2), Budget(20, 20))

Build = Callable[[Task], Change]


def _pause(task: Task) -> Change:
    if task.state in HELD:
        return transitions.hand_back(task, stamp(NOW), "page 3")
    return transitions.pause(task, stamp(NOW))


BUILD: dict[Verb, Build] = {
    Verb.ENQUEUE: lambda t: transitions.enqueue(t, stamp(NOW)),
    Verb.RESCHEDULE: lambda t: transitions.reschedule(t, stamp(NOW), NOW + 3_600_000),
    Verb.PRIORITIZE: lambda t: transitions.prioritize(t, stamp(NOW), "gpu-low"),
    Verb.CLAIM: lambda t: transitions.claim(t.id, t.attempt, stamp(NOW), "w2", LIMITS.lease),
    Verb.TAKE_OVER: lambda t: transitions.take_over(t, stamp(NOW), "w2"),
    Verb.EXTEND: lambda t: transitions.extend(t, stamp(NOW), 600),
    Verb.SUCCEED: lambda t: transitions.succeed(t, stamp(NOW), Outcome()),
    Verb.FAIL: lambda t: transitions.fail(t, stamp(NOW), BROKEN, RetryAt(NOW + 5_000)),
    Verb.STALL: lambda t: transitions.stall(t, stamp(NOW)),
    Verb.REVIVE: lambda t: transitions.revive(t, stamp(NOW)),
    Verb.RESCUE: lambda t: transitions.rescue(t, stamp(NOW), LOST),
    Verb.EXPIRE: lambda t: transitions.expire(t, stamp(NOW), LATE),
    Verb.BURY: lambda t: transitions.bury(t, stamp(NOW), POISON),
    Verb.PAUSE: _pause,
    Verb.RESUME: lambda t: transitions.resume(t, stamp(NOW)),
    Verb.CANCEL: lambda t: transitions.cancel(
        _softly(t), stamp(NOW), CancelMode.HARD, ErrorCode.CANCELED_BY_USER
    ),
    Verb.STOPPED: lambda t: transitions.stopped(t, stamp(NOW)),
    Verb.REUSE: lambda t: transitions.reuse(t, stamp(NOW), Outcome(), "task_before"),
    Verb.REOPEN: lambda t: transitions.reopen(t, stamp(NOW), Budgets()),
}
PAIRS = [(state, verb) for state in State for verb in BUILD]


def _admitted(change: Change, task: Task) -> bool:
    return change.guard.admits(task)


def test_every_verb_has_a_constructor() -> None:
    assert set(BUILD) == set(Verb) - {Verb.SUBMIT} - STAYING


@pytest.mark.parametrize(("state", "verb"), PAIRS)
def test_a_verb_does_what_its_row_says_and_nothing_elsewhere(state: State, verb: Verb) -> None:
    task = task_in(state)
    if state not in RULES[verb].sources:
        _refused(task, verb)
        return
    change = BUILD[verb](task)
    assert _admitted(change, task)
    after = applied(task, change)
    assert after.state in RULES[verb].targets
    _keeps_the_rules(task, after, verb)


@pytest.mark.parametrize(("state", "verb"), PAIRS)
def test_a_change_built_from_one_state_is_refused_by_every_state_outside_its_row(
    state: State, verb: Verb
) -> None:
    source = task_in(min(RULES[verb].sources))
    change = BUILD[verb](source)
    meanwhile = replace(
        task_in(state), id=source.id, attempt=source.attempt, version=source.version
    )
    if state not in RULES[verb].sources:
        assert not _admitted(change, meanwhile)
    elif state in change.guard.states:
        assert _admitted(change, replace(meanwhile, not_before=None))


def _softly(task: Task) -> Task:
    """While canceling, a cancel changes something only from soft to hard."""
    return replace(task, cancel=task.cancel and replace(task.cancel, mode=CancelMode.SOFT))


def _refused(task: Task, verb: Verb) -> None:
    if verb is Verb.CLAIM:  # built without the task: the write itself refuses
        assert not _admitted(BUILD[verb](task), task)
        return
    with pytest.raises(IllegalTransition):
        BUILD[verb](task)


def _keeps_the_rules(before: Task, after: Task, verb: Verb) -> None:
    entry = after.history[-1]
    assert (entry.verb, entry.to, entry.at) == (verb, after.state, NOW)
    assert len(after.history) == len(before.history) + 1
    assert after.version == before.version + 1
    assert (after.due_at is None) == (after.state.ended and not after.owes)
    if after.state.ended:
        assert after.ended_at == NOW
    else:
        assert after.ended_at is None
        assert after.due_at is not None
        assert before.created_at <= after.due_at <= after.deadline_at


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_state_has_a_clock_within_the_deadline(state: State) -> None:
    task = task_in(state)
    due = clock.due(task)
    assert due is not None
    assert T0 <= due <= task.deadline_at


@pytest.mark.parametrize("state", sorted(ENDED))
def test_an_ended_task_that_owes_nothing_has_no_clock(state: State) -> None:
    assert clock.due(task_in(state)) is None


@pytest.mark.parametrize("state", sorted(ENDED))
def test_no_machine_verb_leaves_an_ended_state(state: State) -> None:
    leaving = {verb for verb, rule in RULES.items() if state in rule.sources} - STAYING
    assert leaving <= {Verb.REOPEN}


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_state_has_an_exit_that_needs_no_worker(state: State) -> None:
    by_sweep = {Verb.EXPIRE, Verb.STALL, Verb.RESCUE, Verb.STOPPED, Verb.RESUME}
    assert any(state in RULES[verb].sources for verb in by_sweep)


@pytest.mark.parametrize("state", sorted(LIVE - {State.CANCELING}))
def test_every_live_state_can_be_canceled(state: State) -> None:
    after = applied(task_in(state), BUILD[Verb.CANCEL](task_in(state)))
    assert after.state is (State.CANCELING if state in HELD else State.CANCELED)


def test_a_take_over_counts_the_crash_in_the_write_that_claims() -> None:
    task = task_in(State.PROCESSING)
    after = applied(task, BUILD[Verb.TAKE_OVER](task))
    assert (after.attempt, after.budgets.crashes.spent) == (2, 1)


def test_a_rescue_without_crash_budget_ends_the_task() -> None:
    task = task_in(State.STALLED, budgets=BROKE)
    assert applied(task, transitions.rescue(task, stamp(NOW), LOST)).state is State.FAILED


def test_a_rescue_of_a_run_that_was_too_long_is_a_time_out() -> None:
    task = task_in(State.STALLED)
    after = applied(task, transitions.rescue(task, stamp(NOW), LATE))
    assert (after.state, after.budgets.crashes.spent) == (State.TIMED_OUT, 0)


def test_a_failure_that_is_given_up_ends_the_task() -> None:
    task = task_in(State.PROCESSING)
    after = applied(task, transitions.fail(task, stamp(NOW), BROKEN, GiveUp("spent")))
    assert (after.state, after.error) == (State.FAILED, BROKEN)


def test_a_retry_far_ahead_is_left_to_the_clock() -> None:
    task = task_in(State.PROCESSING)
    far = NOW + transitions.LONGEST_DELAY + 1
    after = applied(task, transitions.fail(task, stamp(NOW), BROKEN, RetryAt(far)))
    assert (after.sent_at, after.due_at) == (None, far)


def test_an_extension_stops_at_the_longest_run() -> None:
    task = task_in(State.PROCESSING)
    after = applied(task, transitions.extend(task, stamp(NOW), 10**6))
    assert after.limits.run_timeout == LIMITS.max_run


def test_a_forced_stop_raises_the_attempt_so_that_a_late_writer_is_refused() -> None:
    task = task_in(State.CANCELING)
    after = applied(task, transitions.stopped(task, stamp(NOW), forced=True))
    assert after.attempt == task.attempt + 1
    late = transitions.stopped(task, stamp(NOW))
    assert not late.guard.admits(after)


def test_a_reopened_task_lives_afresh_with_its_history() -> None:
    task = task_in(State.FAILED, budgets=BROKE)
    after = applied(task, transitions.reopen(task, stamp(NOW), Budgets()))
    assert (after.generation, after.budgets, after.error) == (1, Budgets(), None)
    assert after.deadline_at == NOW + LIMITS.deadline
    assert after.history[: len(task.history)] == task.history


def test_a_worker_keeps_its_work_when_the_task_was_suspected_meanwhile() -> None:
    copy = task_in(State.PROCESSING)
    stalled = applied(copy, transitions.stall(copy, stamp(NOW)))
    assert transitions.succeed(copy, stamp(NOW), Outcome()).guard.admits(stalled)


def test_a_rescheduled_task_is_looked_at_at_its_new_time_and_its_life_counts_from_there() -> None:
    task = task_in(State.SCHEDULED)
    later = NOW + 90 * 86_400_000
    after = applied(task, transitions.reschedule(task, stamp(NOW), later))
    assert (after.state, after.run_at, after.due_at) == (State.SCHEDULED, later, later)
    assert after.deadline_at == later + LIMITS.deadline


def test_a_task_rescheduled_to_now_waits_in_its_lane_and_its_message_is_still_to_come() -> None:
    task = task_in(State.SCHEDULED)
    after = applied(task, transitions.reschedule(task, stamp(NOW), NOW - 1))
    assert (after.state, after.queued_at, after.sent_at) == (State.QUEUED, NOW, None)
    assert after.due_at == NOW + LIMITS.send_check
    assert after.deadline_at == NOW + LIMITS.deadline


def test_a_woken_task_waits_for_its_message_as_a_resumed_one_does() -> None:
    task = task_in(State.SCHEDULED)
    after = applied(task, transitions.wake(task, stamp(NOW)))
    assert (after.state, after.queued_at, after.due_at) == (
        State.QUEUED,
        NOW,
        NOW + LIMITS.send_check,
    )
    with pytest.raises(IllegalTransition):
        transitions.wake(task_in(State.CREATED), stamp(NOW))


def test_the_wait_that_a_caller_asked_for_is_not_counted_as_waiting() -> None:
    task = task_in(State.PROCESSING, run_at=T0 + 40_000, started_at=T0 + 50_000)
    change = transitions.succeed(task, stamp(NOW), Outcome())
    assert change.ledger is not None
    assert (change.ledger.wait_ms, change.ledger.run_ms) == (10_000, 50_000)


def test_a_huge_error_text_is_cut_to_its_limit_in_bytes() -> None:
    task = task_in(State.PROCESSING)
    huge = TaskError(ErrorCode.MODEL_ERROR, "é" * 10**6, ErrorClass.TRANSIENT, "😀" * 10**6)
    error = applied(task, transitions.fail(task, stamp(NOW), huge, GiveUp("x"))).error
    assert error is not None
    assert len(error.message.encode()) <= transitions.MAX_ERROR_MESSAGE
    assert len(error.details.encode()) <= transitions.MAX_ERROR_DETAILS
