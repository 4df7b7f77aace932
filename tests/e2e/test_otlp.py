"""Deployed functions and real workers send their spans to a collector, as one tree under the caller's."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Taskgate
from taskgate.local import LocalStack
from taskgate.principal import USER_SCOPES
from taskgate.settings import stage
from taskgate.task import Owner
from taskgate.testing.receiver import Receiver
from tests.collector import Told, collecting, told
from tests.e2e.waiting import PATIENCE
from tests.unit.gpu_worker.loopback import Loopback

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("otlp")]

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{CALLER}-01"
WHOLE = {"submit", "run", "callback"}
TRIES = 5
QUICK = {"prompt": "a secret lighthouse", "steps": 1, "width": 64, "height": 64}


@pytest.fixture
def collector() -> Iterator[Loopback]:
    with collecting() as at:
        yield at


@pytest.fixture
def traced(collector: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A stack of its own: no other stage has a collector."""
    with LocalStack(folder=tmp_path_factory.mktemp("stack"), otlp=collector.url) as stack:
        yield stack


def whole_tree(collector: Loopback, task_id: str, seconds: float) -> dict[str, Told]:
    """The task's spans by their name, as soon as each has arrived; empty when one did not in time."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        of_task = [t for t in told(collector) if t.attributes.get("taskgate.task.id") == task_id]
        found = {one.span.name: one for one in of_task}
        if found.keys() >= WHOLE:
            return found
        time.sleep(0.2)
    return {}


def test_a_tasks_life_reaches_the_collector_as_one_tree_from_the_request_to_the_callback(
    traced: LocalStack, collector: Loopback
) -> None:
    keys = DynamoKeys(traced.client("dynamodb"), table=traced.environment.tasks_table)
    key = issue(keys, Owner("traced", "tess"), USER_SCOPES, max_pending=9)
    worker = traced.start_worker("gpu")
    found: dict[str, Told] = {}
    with Taskgate(traced.api_url, key) as client, Receiver() as receiver:
        # A function gives its collector one second. On a machine that is too busy for it those spans
        # are lost, as the page says, and the collector is left alone for half a minute.
        for number in range(1, TRIES + 1):
            handle = client.submit(
                "text_to_image", QUICK, callback_url=receiver.url, traceparent=PARENT
            )
            assert handle.wait(timeout=PATIENCE).succeeded
            receiver.wait_for(number, PATIENCE)
            if found := whole_tree(collector, handle.id, 35):
                break
    worker.stop()
    assert found.keys() == WHOLE

    submit, run, callback = (found[name] for name in ("submit", "run", "callback"))
    assert {one.span.trace_id.hex() for one in found.values()} == {TRACE}
    assert submit.span.parent_span_id.hex() == CALLER
    assert run.span.parent_span_id == submit.span.span_id
    assert callback.span.parent_span_id == run.span.span_id
    # The receiver goes on from the very span that the outbox told.
    went_on_from = {one.headers["traceparent"].split("-")[2] for one in receiver.arrived}
    assert callback.span.span_id.hex() in went_on_from

    assert [one.resource["service.name"] for one in (submit, run, callback)] == [
        "taskgate-api",
        "taskgate-worker",
        "taskgate-outbox-callback",
    ]
    for one in (submit, run, callback):
        deployment = one.resource["deployment.environment.name"], one.resource["taskgate.cell"]
        assert deployment == tuple(stage("local").labels.values())
        assert one.attributes["taskgate.task.id"] == handle.id
        assert one.span.start_time_unix_nano <= one.span.end_time_unix_nano
    assert submit.span.start_time_unix_nano < run.span.start_time_unix_nano
    sent = b"".join(str(one.span).encode() for one in told(collector))
    assert b"lighthouse" not in sent
    assert receiver.url.encode() not in sent
