"""A soft cancel, and the submit that is given its result, on the deployed local stack."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Taskgate
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.task import Owner
from tests.e2e.test_verbs_of_people import QUICK, verbs, working
from tests.e2e.waiting import PATIENCE, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("verbs")]

RUN = {**QUICK, "prompt": "salvage", "steps": 40, "step_ms": 250}


@pytest.fixture(scope="module")
def client(stack: LocalStack) -> Iterator[Taskgate]:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    key = issue(keys, Owner("reuse", "olga"), SCOPES, max_pending=500)
    with Taskgate(stack.api_url, key) as made:
        yield made


def test_what_a_soft_cancelled_run_brought_is_given_to_the_next_same_submit(
    stack: LocalStack, client: Taskgate, tmp_path: Path
) -> None:
    first = client.submit("text_to_image", RUN)
    with working(stack):
        until(lambda: first.status().state == "processing")
        assert first.cancel("soft").outcome == "canceling"
        until(lambda: (cancel := first.get().cancel) and cancel.seen_at)
        canceled = first.wait(timeout=PATIENCE)
    canceled = first.get()
    assert (canceled.state, canceled.result) == ("canceled", None)
    assert canceled.cancel is not None
    asked, seen, stopped = (
        canceled.cancel.asked_at, canceled.cancel.seen_at, canceled.cancel.stopped_at
    )  # fmt: skip
    assert asked is not None
    assert seen is not None
    assert stopped is not None
    assert asked <= seen < stopped
    assert canceled.cancel.kept_until is not None

    # No worker is there: whatever ends now was not computed.
    again = client.submit("text_to_image", RUN)
    assert (again.submitted.state, again.submitted.reused_from) == ("succeeded", first.id)
    assert verbs(again.submitted) == ["submit", "reuse"]
    gave = first.get().cancel
    assert gave is not None
    assert (gave.kept_until, gave.given_to) == (None, again.id)
    (file,) = again.download(tmp_path)
    manifest = again.result().files[0]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == manifest.sha256
    third = client.submit("text_to_image", RUN)
    assert third.submitted.state in {"created", "queued"}
    assert third.cancel("hard").outcome == "canceled"
    assert third.cancel("hard").outcome == "canceled"
    assert again.cancel().outcome == "too_late"
    stats = client.stats()
    assert stats.balanced
    assert (stats.succeeded, stats.canceled, stats.active) == (1, 2, 0)
