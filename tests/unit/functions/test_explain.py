"""`explain` tells why a task is where it is, and says no more than it knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.views.explaining import explain
from taskgate.gateway.views.stories import about
from taskgate.lifecycle.retry import Budget, Budgets
from taskgate.lifecycle.states import HELD, LIVE, State
from taskgate.ports import Pulse
from taskgate.roster import Sign, WorkerState
from taskgate.task import CancelMode, Duty
from taskgate.testing.factories import LIMITS, T0, task_in
from tests.unit.functions.api_world import ADA, EVE, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import breaking, counting

NOW = T0 + 20_000


def _told(api: ApiWorld, task_id: str, caller: object = ADA) -> dict[str, object]:
    answer = api.get(f"/v1/tasks/{task_id}/explain", caller)  # type: ignore[arg-type]
    assert answer.status == 200
    return dict(answer.json)


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_task_that_lives_waits_for_something_and_says_what_ends_it(state: State) -> None:
    told = explain(task_in(state), None, 1, NOW)
    assert told.why
    assert told.waits_for
    assert told.look is not None
    assert told.limit is not None
    assert T0 < told.limit.at <= told.task.deadline_at
    assert any(told.limit.name in sentence for sentence in told.sentences)
    assert "cancel" in told.actions or state is State.CANCELING


@pytest.mark.parametrize("state", sorted(set(State) - LIVE))
def test_a_task_that_has_ended_waits_for_nothing(state: State) -> None:
    told = explain(task_in(state), None, None, NOW)
    assert (told.waits_for, told.look, told.limit, told.holder) == (None, None, None, None)
    assert state in told.why


@pytest.mark.parametrize("state", sorted(set(State) - HELD))
def test_nobody_holds_a_task_that_no_worker_computes(state: State) -> None:
    assert explain(task_in(state), None, None, NOW).holder is None


def test_the_look_is_by_the_next_sweep_after_the_clock(api: ApiWorld) -> None:
    told = _told(api, api.submitted())
    assert told["next_look"] == {
        "at": "2026-09-21T14:16:20.000Z",
        "by": "2026-09-21T14:17:20.000Z",
    }


def test_a_clock_that_is_due_already_promises_the_next_sweep_and_not_the_past() -> None:
    task = task_in(State.QUEUED)
    late = T0 + 500_000
    told = explain(task, None, 0, late)
    assert told.look is not None
    assert (told.look.at, told.look.by) == (task.due_at, late + 60_000)
    assert any("next sweep, within about 60 s" in s for s in told.sentences)


def test_a_waiting_task_says_how_many_wait_in_its_lane(api: ApiWorld) -> None:
    ids = [api.submitted() for _ in range(3)]
    told = _told(api, ids[0])
    assert told["lane"] == {"name": "gpu-normal", "waiting": 3}
    said = "About 3 tasks wait in lane gpu-normal; tenants take turns, so its place is not known."
    assert said in told["sentences"]  # type: ignore[operator]
    assert told["waits_for"] == "a worker of the pool gpu: none was heard of lately"
    assert told["next_limit"] == {
        "name": "queue_timeout",
        "at": "2026-09-21T14:43:20.000Z",
        "then": "timed_out",
    }


def test_a_running_task_says_who_holds_it_and_when_it_was_last_heard_of(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    api.world.clock.advance(12)
    api.worker.beat(held, 0.5, "drawing")
    api.world.clock.advance(3)
    told = _told(api, task_id)
    assert told["holder"] == {
        "worker": "w1",
        "started_at": "2026-09-21T14:13:20.000Z",
        "last_sign_at": "2026-09-21T14:13:32.000Z",
    }
    assert told["lane"] == {"name": "gpu-normal", "waiting": None}
    sentences = told["sentences"]
    assert "Worker w1 holds it and was last heard of about 3 s ago." in sentences  # type: ignore[operator]


def test_the_pulse_of_an_earlier_attempt_is_nobodys_beat(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    api.worker.beat(held, 0.5, "drawing")
    pulse = api.world.pulses.get(task_id)
    api.world.pulses.pulses[task_id] = replace(pulse, beat_at=NOW * 2)  # type: ignore[type-var]
    api.world.tasks.tasks[task_id] = replace(api.tasks[task_id], attempt=2)
    holder = _told(api, task_id)["holder"]
    assert holder["last_sign_at"] == "2026-09-21T14:13:20.000Z"  # type: ignore[index]


def test_a_suspect_says_why_and_what_follows_the_grace(api: ApiWorld) -> None:
    task_id = api.stalled()
    told = _told(api, task_id)
    assert "no beat for a whole lease" in str(told["why"])
    assert told["next_limit"]["then"] == "queued"  # type: ignore[index]
    assert told["actions"] == ["cancel", "extend", "fail", "recover"]
    assert told["budgets"]["crashes"]["left"] == 2  # type: ignore[index]


def test_a_suspect_without_crash_budget_is_said_to_fail() -> None:
    spent = Budgets(Budget(3), Budget(2, 2), Budget(20))
    told = explain(task_in(State.STALLED, budgets=spent), None, None, NOW)
    assert told.limit is not None
    assert told.limit.then is State.FAILED


def test_a_run_whose_deadline_comes_first_names_the_deadline() -> None:
    task = task_in(State.PROCESSING, deadline_at=T0 + 60_000)
    limit = explain(task, Pulse(task_id=task.id, attempt=1, beat_at=NOW), None, NOW).limit
    assert limit is not None
    assert (limit.name, limit.at) == ("deadline", T0 + 60_000)


def test_a_scheduled_task_says_when_it_starts(api: ApiWorld) -> None:
    told = _told(api, api.submitted({**PROMPT, "delay": 7200}))
    assert "in about 2 h" in str(told["why"])
    assert told["actions"] == ["cancel", "priority", "reschedule"]
    assert told["next_look"]["at"] == "2026-09-21T16:13:20.000Z"  # type: ignore[index]


def test_a_hard_cancel_is_enforced_after_its_grace_and_a_soft_one_may_run_to_its_end() -> None:
    hard = task_in(State.CANCELING)
    told = explain(hard, None, None, NOW)
    assert told.limit is not None
    assert (told.limit.name, told.limit.at) == ("cancel_grace", T0 + LIMITS.cancel_grace)
    assert hard.cancel is not None
    soft = replace(hard, cancel=replace(hard.cancel, mode=CancelMode.SOFT))
    limit = explain(soft, None, None, NOW).limit
    assert limit is not None
    assert (limit.name, limit.then) == ("run_timeout", State.CANCELED)


def test_a_failed_task_says_why_and_that_it_may_run_again(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.fail(api.claim())
    told = _told(api, task_id)
    assert told["why"] == "It ended as failed about 0 s ago: invalid_input: no such thing."
    assert told["actions"] == ["retry"]
    assert told["sentences"][-1].startswith("Nothing is owed")  # type: ignore[index]


def owing(api: ApiWorld, folder: Path, *answers: Attempt) -> str:
    """A task that has succeeded and whose receiver gives these answers."""
    api.receiver_says = list(answers)
    url = "https://hooks.example.com/taskgate"
    task_id = api.submitted({**PROMPT, "callback_url": url, "callback_events": ["task.succeeded"]})
    api.succeed(api.claim(), folder, "image.png")
    return task_id


DOWN = Attempt(503, Reason.SERVER_ERROR, 9)


def test_an_ended_task_says_how_far_its_callback_has_come(api: ApiWorld, tmp_path: Path) -> None:
    task_id = owing(api, tmp_path, DOWN)
    assert "no attempt so far; the next now." in str(_told(api, task_id)["sentences"])
    api.settle()
    told = _told(api, task_id)
    owes: Any = told["owes"]
    assert (owes["duties"], owes["callback"]["tries"]) == (["callback"], 1)
    assert owes["callback"]["last"]["status"] == 503
    assert owes["callback"]["next_try_at"] == owes["next_at"] == "2026-09-21T14:13:25.000Z"
    assert owes["callback"]["receiver"]["breaker"] == "failing"
    said = (
        "Its callback is still to be delivered: 1 attempt so far, the last one: server_error 503;"
        " the next in about 5 s."
    )
    assert said in told["sentences"]  # type: ignore[operator]
    assert told["actions"] == ["redeliver"]
    api.settle(hours=0.01)
    assert _told(api, task_id)["owes"] is None


def test_an_ended_task_says_that_its_receiver_is_ill_and_when_it_is_probed(
    api: ApiWorld, tmp_path: Path
) -> None:
    ids = [owing(api, tmp_path) for _ in range(6)]
    api.receiver_says = [DOWN] * 5
    api.settle()
    told = _told(api, ids[-1])
    receiver = told["owes"]["callback"]["receiver"]  # type: ignore[index]
    assert (receiver["breaker"], receiver["failures"]) == ("open", 5)
    assert receiver["since"] < receiver["next_probe_at"]
    said = "Its receiver has failed 5 times in a row and has been out for about 0 s"
    assert said in str(told["sentences"])


def test_a_given_up_callback_is_said_to_be_one_that_may_be_sent_again(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = owing(api, tmp_path, Attempt(410, Reason.GONE, 2))
    api.settle()
    told = _told(api, task_id)
    said = (
        "Its callback was given up after 1 attempt, the last one: gone 410; it may be sent again."
    )
    assert said in told["sentences"]  # type: ignore[operator]
    assert (told["owes"], told["actions"]) == (None, ["redeliver"])


def test_an_ended_task_says_that_follow_ups_and_clean_up_are_owed() -> None:
    duties = (Duty.FOLLOW_UPS, Duty.CLEAN_UP)
    task = task_in(State.SUCCEEDED, owes=duties, owed_at=NOW + 9_000, follow_ups=2)
    told = explain(task, None, None, NOW)
    assert told.owes is not None
    assert (told.owes.duties, told.owes.next_at, told.owes.callback) == (duties, NOW + 9_000, None)
    assert "What follows it (2 tasks) is still to be put on record." in told.sentences
    assert "What it left behind is still to be removed." in told.sentences


def test_a_receiver_that_cannot_be_read_leaves_the_rest_of_the_story(tmp_path: Path) -> None:
    api = ApiWorld(between=breaking("receivers", "get", Unavailable()))
    told = _told(api, owing(api, tmp_path))
    assert told["owes"]["callback"]["receiver"] is None  # type: ignore[index]


def test_a_paused_task_names_who_holds_it_back(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.post(f"/v1/tasks/{task_id}/pause", None, OPERATOR)
    told = _told(api, task_id)
    assert told["why"] == "It is held back by operator:olga/k9."
    assert told["actions"] == ["cancel", "priority"]
    assert _told(api, task_id, OPERATOR)["actions"] == ["cancel", "priority", "resume"]


def test_an_operator_may_ask_about_any_task_and_a_stranger_about_none(
    api: ApiWorld, tmp_path: Path
) -> None:
    task_id = api.submitted()
    assert _told(api, task_id, OPERATOR)["state"] == "queued"
    assert api.get(f"/v1/tasks/{task_id}/explain", EVE).code == "task_not_found"


def test_an_explanation_takes_a_call_for_each_thing_that_it_tells_of(tmp_path: Path) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    task_id = api.submitted()
    calls.clear()
    _told(api, task_id)
    assert calls == [
        "tasks.get_with_pulse",
        "lanes.waiting",
        "roster.present",
        "spreads.lately",
    ]
    api.claim()
    calls.clear()
    _told(api, task_id)
    assert calls == ["tasks.get_with_pulse", "spreads.lately"]
    ended = owing(api, tmp_path)
    calls.clear()
    _told(api, ended)
    assert calls == ["tasks.get_with_pulse", "receivers.get"]


def test_a_lane_that_cannot_be_counted_leaves_the_rest_of_the_story() -> None:
    api = ApiWorld(between=breaking("lanes", "waiting", Unavailable()))
    told = _told(api, api.submitted())
    assert told["lane"] == {"name": "gpu-normal", "waiting": None}
    assert told["why"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "about 0 s"),
        (40, "about 40 s"),
        (90, "about 90 s"),
        (91, "about 2 min"),
        (5400, "about 90 min"),
        (7200, "about 2 h"),
        (48 * 3600, "about 48 h"),
        (90 * 86_400, "about 90 days"),
    ],
)
def test_a_span_is_told_in_one_unit(seconds: int, said: str) -> None:
    assert about(seconds * 1000) == said


def test_queues_tell_an_operator_how_many_wait_in_each_lane(api: ApiWorld) -> None:
    for _ in range(2):
        api.submitted({**PROMPT, "priority": "low"})
    queues = api.get("/v1/queues", OPERATOR).json["queues"]
    assert {q["lane"]: q["waiting"] for q in queues if q["waiting"]} == {"gpu-low": 2}
    assert {
        "lane": "cpu-high",
        "pool": "cpu",
        "priority": "high",
        "waiting": 0,
        "paused": None,
    } in queues
    assert len(queues) == 6


def test_the_queues_are_no_business_of_others(api: ApiWorld) -> None:
    assert api.get("/v1/queues").code == "missing_scope"


def test_a_task_that_waits_while_no_worker_of_its_pool_is_there_says_so(api: ApiWorld) -> None:
    """Scaling from zero, or no capacity to be had: it waits for that, and not for its turn."""
    task_id = api.submitted()
    none = "a worker of the pool gpu: none was heard of lately"
    told = _told(api, task_id)
    assert told["waits_for"] == none
    assert f"It waits for {none}." in told["sentences"]  # type: ignore[operator]
    assert told["state"] == "queued"

    at = api.world.clock()
    api.world.roster.join("gpu", "w1")
    api.world.roster.report(
        Sign(
            worker="w1",
            pool="gpu",
            version="1",
            state=WorkerState.IDLE,
            started_at=at,
            beat_at=at,
        )
    )
    assert _told(api, task_id)["waits_for"] == "a free worker of that lane"
    api.world.clock.advance(15 * 4 * 3 + 1)
    assert _told(api, task_id)["waits_for"] == none


def test_that_nobody_knows_who_works_is_no_reason_to_say_that_nobody_does(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(api.world.roster, "present", away)
    assert "heard of lately" not in str(_told(api, api.submitted()))
