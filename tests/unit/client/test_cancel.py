"""A cancel and a reused result, as the SDK shows them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from taskgate.client import Cancel, Taskgate
from taskgate.testing.fake_gateway import Answer, FakeGateway

ASKED = {
    "mode": "soft",
    "code": "canceled_by_user",
    "asked_at": "2026-07-01T07:00:00.000Z",
    "asked_by": "user:ada",
    "seen_at": "2026-07-01T07:00:09.000Z",
    "stopped_at": None,
    "enforced": False,
    "kept_until": None,
}


def test_a_cancel_tells_what_came_of_it_and_how_far_it_is(
    gateway: FakeGateway, client: Taskgate
) -> None:
    body = {"id": "task_1", "state": "canceling", "cancel": ASKED, "outcome": "canceling"}
    gateway.answers("POST /v1/tasks/task_1/cancel", Answer(202, body))
    task = client.handle("task_1").cancel()
    assert task.outcome == "canceling"
    assert task.cancel == Cancel(
        mode="soft",
        asked_at=datetime(2026, 7, 1, 7, tzinfo=UTC),
        asked_by="user:ada",
        seen_at=datetime(2026, 7, 1, 7, 0, 9, tzinfo=UTC),
    )


def test_an_older_gateway_that_tells_less_of_a_cancel_is_understood(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers(
        "GET /v1/tasks/task_1",
        Answer(body={"id": "task_1", "state": "canceled", "cancel": {"mode": "hard"}}),
        Answer(body={"id": "task_1", "state": "queued", "cancel": None}),
    )
    assert client.get("task_1").cancel == Cancel(mode="hard")
    assert client.get("task_1").cancel is None


@pytest.mark.parametrize(("reuse", "sent"), [(True, None), (False, False)])
def test_a_submit_says_only_when_it_refuses_reuse(
    gateway: FakeGateway, client: Taskgate, reuse: bool, sent: bool | None
) -> None:
    body = {"id": "task_2", "state": "succeeded", "reused_from": "task_1"}
    gateway.answers("POST /v1/tasks", Answer(200, body))
    handle = client.submit("a", {}, reuse=reuse)
    assert gateway.seen[0].json.get("reuse") is sent
    assert handle.submitted.reused_from == "task_1"
