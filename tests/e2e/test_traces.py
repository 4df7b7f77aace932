"""One trace over the deployed stack: from the request over the real lane to the real callback and every log."""

from __future__ import annotations

import json

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import FollowUp, Taskgate
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.task import Owner
from taskgate.testing.receiver import Receiver
from tests.e2e.test_callbacks import working
from tests.e2e.waiting import PATIENCE
from tests.privilege.logs import logged

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
STATE = "congo=t61rcWkgMzE"
QUICK = {"prompt": "x", "steps": 1, "width": 64, "height": 64}
FINISH = {"image": {"$result": "image.png"}, "factor": 2}


def test_a_callers_trace_is_that_of_the_follow_up_the_callback_and_the_lines_of_every_room(
    stack: LocalStack,
) -> None:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    key = issue(keys, Owner("traced", "tom"), SCOPES, max_pending=9)
    with (
        Taskgate(stack.api_url, key) as client,
        Receiver() as receiver,
        working(stack, "gpu", "cpu"),
    ):
        handle = client.submit(
            "text_to_image",
            QUICK,
            callback_url=receiver.url,
            then=[FollowUp(type="finish_image", input=FINISH)],
            traceparent=PARENT,
            tracestate=STATE,
        )
        handle.wait(timeout=PATIENCE)
        (arrived, *_) = receiver.wait_for(1, PATIENCE)
        [child] = client.get(handle.id).children
        client.handle(child.id).wait(timeout=PATIENCE)
        followed = client.get(child.id)
    assert arrived.headers["traceparent"].split("-")[1] == TRACE
    assert arrived.headers["tracestate"] == STATE
    assert followed.trace_id == handle.submitted.trace_id == TRACE
    rooms = {
        room
        for room, text in logged(stack).items()
        for line in text.splitlines()
        if TRACE in line and json.loads(line[line.index("{") :]).get("trace_id") == TRACE
    }
    print(sorted(rooms))  # noqa: T201 - the figure is the show
    for part in ("api", "outbox", "worker"):
        assert any(part in room for room in rooms), part
