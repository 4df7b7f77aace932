"""A chain whose next type a deploy has removed says so, and holds nothing up."""

from __future__ import annotations

import pytest

from taskgate.catalog import CATALOG
from taskgate.gateway.door.chains import Step
from taskgate.gateway.outbox.following import child_id
from taskgate.gateway.steer import steering
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import CancelMode
from taskgate.testing.factories import OWNER
from tests.unit.gateway.test_settling import Post, callback
from tests.unit.gateway.test_worker_gateway import WHO, claimed, gateway


@pytest.mark.parametrize("well", [True, False])
def test_what_follows_by_a_type_that_is_served_no_more_ends_and_the_parents_callback_goes(
    *, well: bool
) -> None:
    assert CATALOG.find("retired") is None
    post = Post()
    task = post.submitted([Step("retired", {"prompt": "x"})], callback=callback())
    held = claimed(post.world)
    if well:
        gateway(post.world).succeed(held, [], None)
    else:
        gateway(post.world).hand_back(held, None)
        steering.cancel(post.world.ports, WHO, task.id, CancelMode.HARD)
    post.run()
    child = post.task(child_id(task.id, 0))
    assert child.error is not None
    assert (child.state, child.error.code) == (
        (State.FAILED, ErrorCode.INVALID_INPUT)
        if well
        else (State.CANCELED, ErrorCode.CANCELED_BY_USER)
    )
    assert post.task(task.id).due_at is None
    assert len(post.letters.sent) == well
    assert post.world.tasks.ledger(OWNER).balanced
