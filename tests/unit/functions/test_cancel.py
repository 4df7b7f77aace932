"""A cancel as its owner sees it: asked, seen, stopped, each with its time, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.ports import Pulse
from tests.unit.functions.api_world import OPERATOR, ApiWorld


def _cancel(api: ApiWorld, task_id: str, mode: str = "hard", **more: Any) -> dict[str, Any]:
    return api.post(f"/v1/tasks/{task_id}/cancel", {"mode": mode, **more}).json


def _times(api: ApiWorld, task_id: str) -> tuple[bool, bool, bool]:
    """Which of the three steps are on show."""
    cancel = api.get(f"/v1/tasks/{task_id}").json["cancel"]
    return tuple(cancel[name] is not None for name in ("asked_at", "seen_at", "stopped_at"))  # type: ignore[return-value]


def test_asked_seen_and_stopped_show_with_their_times_as_they_come(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    answer = _cancel(api, task_id)
    assert (answer["outcome"], answer["state"]) == ("canceling", "canceling")
    assert _times(api, task_id) == (True, False, False)
    api.world.clock.advance(5)
    api.worker.beat(held, 0.1, "drawing")
    assert _times(api, task_id) == (True, True, False)
    api.world.clock.advance(2)
    api.worker.stopped(held)
    cancel = api.get(f"/v1/tasks/{task_id}").json["cancel"]
    asked, seen, stopped = (cancel[n] for n in ("asked_at", "seen_at", "stopped_at"))
    assert asked < seen < stopped
    assert cancel["asked_by"] == api.tasks[task_id].history[-2].actor
    assert cancel["enforced"] is False


def test_the_worker_says_that_it_has_the_word_once_a_cancel(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    real = api.world.pulses.acknowledge
    monkeypatch.setattr(
        api.world.pulses, "acknowledge", lambda i, seen: (told.append(seen.kind), real(i, seen))
    )
    task_id = api.submitted()
    held = api.claim()
    _cancel(api, task_id, "soft")
    for _ in range(3):
        api.worker.beat(held, 0.1, "drawing")
    _cancel(api, task_id, "hard")
    for _ in range(3):
        api.worker.beat(held, 0.1, "drawing")
    assert told == ["cancel_soft", "cancel_hard"]


def test_a_cancel_that_the_worker_met_only_at_the_end_was_seen_then(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = api.world.pulses.get, []

    def away_once(task_id: str) -> Pulse | None:
        asked.append(task_id)
        if len(asked) == 1:
            raise Unavailable
        return real(task_id)

    task_id = api.submitted()
    held = api.claim()
    _cancel(api, task_id)
    api.world.clock.advance(3)
    monkeypatch.setattr(api.world.pulses, "get", away_once)
    api.worker.stopped(held)
    cancel = api.tasks[task_id].cancel
    assert cancel is not None
    assert cancel.seen_at == cancel.stopped_at == api.world.clock()


def test_a_task_that_nobody_computes_is_stopped_when_it_is_asked(api: ApiWorld) -> None:
    answer = _cancel(api, api.submitted())
    assert (answer["outcome"], answer["cancel"]["seen_at"]) == ("canceled", None)
    assert answer["cancel"]["stopped_at"] == answer["cancel"]["asked_at"]


def test_too_late_is_said(api: ApiWorld, tmp_path: Path) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    answer = api.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status, answer.json["outcome"]) == (200, "too_late")
    assert answer.json["told"] == "Too late: it had ended as succeeded before."
    assert answer.json["cancel"] is None


def test_a_soft_cancel_is_made_hard_and_a_hard_one_never_soft(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    _cancel(api, task_id, "soft", reason="not now")
    api.world.clock.advance(20)
    api.worker.beat(held, 0.1, "drawing")
    raised = _cancel(api, task_id, "hard", reason="not at all")
    assert raised["cancel"]["mode"] == "hard"
    assert raised["cancel"]["seen_at"] is None, "the hard one has not been seen yet"
    assert [e["reason"] for e in raised["history"][-2:]] == ["not now", "not at all"]
    api.world.clock.advance(1)
    after = _cancel(api, task_id, "soft")
    assert (after["cancel"], after["history"]) == (raised["cancel"], raised["history"])
    signal = api.worker.beat(held, 0.2, "drawing")
    assert signal is not None
    assert signal.kind == "cancel_hard"


def test_explain_tells_whether_the_worker_has_the_word_and_what_may_still_be_asked(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    held = api.claim()
    _cancel(api, task_id, "soft")
    told = api.get(f"/v1/tasks/{task_id}/explain").json
    assert (
        "Its worker has not had the word yet; it comes with the worker's next beat."
        in (told["sentences"])
    )
    assert told["actions"] == ["cancel"]
    api.world.clock.advance(3)
    api.worker.beat(held, 0.1, "drawing")
    told = api.get(f"/v1/tasks/{task_id}/explain").json
    assert "Its worker has had the word for about 0 s." in told["sentences"]
    assert told["cancel"]["seen_at"] is not None
    _cancel(api, task_id, "hard")
    assert api.get(f"/v1/tasks/{task_id}/explain").json["actions"] == []


def test_a_cancel_that_no_worker_hears_is_enforced_and_says_so(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.claim()
    _cancel(api, task_id)
    api.world.clock.advance(61)
    api.sweep()
    task = api.tasks[task_id]
    assert task.state is State.CANCELED
    assert task.cancel is not None
    assert (task.cancel.enforced, task.cancel.seen_at) == (True, None)
    assert task.history[-1].reason == "the cancel is enforced: no worker heard it"


def test_an_enforced_cancel_tells_that_the_worker_had_the_word(api: ApiWorld) -> None:
    task_id = api.submitted()
    held = api.claim()
    _cancel(api, task_id)
    api.worker.beat(held, 0.1, "drawing")
    seen_at = api.world.clock()
    api.world.clock.advance(61)
    api.sweep()
    task = api.tasks[task_id]
    assert task.cancel is not None
    assert (task.cancel.enforced, task.cancel.seen_at) == (True, seen_at)
    assert "had the word and did not stop" in task.history[-1].reason


def test_an_operators_cancel_names_the_operator(api: ApiWorld) -> None:
    task_id = api.submitted()
    answer = api.post(f"/v1/tasks/{task_id}/cancel", {"mode": "hard"}, OPERATOR).json
    assert answer["cancel"]["code"] == "canceled_by_operator"
    assert answer["cancel"]["asked_by"] == answer["history"][-1]["actor"]
