"""The attempt, not the worker's name, says who may write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskgate.catalog import CATALOG
from taskgate.catalog.tasktype import TaskInput, TaskType
from taskgate.errors import BadSetting, LeaseLost, Refused
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.gateway.work.worker import Failure, Held, WorkerGateway
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Owner
from taskgate.testing.memory import MemoryWorld

LEASE = 45
ENVIRONMENT = Environment(
    stage="test", tasks_table="t", ephemeral_table="e", results_bucket="r",
    lanes={lane: f"memory://{lane}" for lane in CATALOG.lanes()}, clock_shards=4, beat=15,
    lease=LEASE, send_check=30, stall_grace=60, cancel_grace=30,
)  # fmt: skip
FAILURE = Failure(ErrorCode.MODEL_ERROR, "it broke", ErrorClass.TRANSIENT)


def claimed_twice(memory: MemoryWorld, gateway: WorkerGateway) -> tuple[Held, Held]:
    """The same worker claims a task, falls silent for a lease, and takes its own task over."""
    who = Principal(Owner("acme", "ada"), SCOPES, 10, "key")
    request = SubmitRequest(type="embed_document", input={"text": "x"})
    task = submit(memory.ports, CATALOG, ENVIRONMENT, who, request).task
    holds = []
    for _ in range(2):
        held = gateway.claim(memory.lanes.receive(task.lane)[0])
        assert isinstance(held, Held)
        holds.append(held)
        memory.clock.advance(LEASE + 1)
    gateway.report(holds[1], 0.5, "second")
    return holds[0], holds[1]


@pytest.mark.parametrize(
    "late",
    [
        lambda gateway, held: gateway.report(held, 0.9, "first"),
        lambda gateway, held: gateway.beat(held, 0.9, "first"),
        lambda gateway, held: gateway.succeed(held, (), None),
        lambda gateway, held: gateway.fail(held, FAILURE),
        lambda gateway, held: gateway.hand_back(held, "checkpoint"),
        lambda gateway, held: gateway.snooze(held, 60),
        lambda gateway, held: gateway.refresh(held),
        lambda gateway, held: gateway.stopped(held),
    ],
    ids=[
        "progress",
        "beat",
        "succeed",
        "fail",
        "hand back",
        "snooze",
        "refresh",
        "stopped",
    ],
)
def test_an_attempt_of_the_same_worker_that_came_too_late_is_refused_in_every_way(
    late: Callable[[WorkerGateway, Held], Any],
) -> None:
    memory = MemoryWorld()
    gateway = WorkerGateway(memory.ports, CATALOG, ENVIRONMENT, "the-same-worker")
    first, second = claimed_twice(memory, gateway)
    lease = memory.pulses.get(second.task.id)
    with pytest.raises((LeaseLost, Refused)):
        late(gateway, first)
    assert memory.pulses.get(second.task.id) == lease
    assert memory.state(second.task.id) is State.PROCESSING
    assert gateway.succeed(second, (), None).state is State.SUCCEEDED


def test_a_type_whose_run_could_outlast_what_sqs_hides_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"max_run is 39601; it must be at most 39600 s"):
        TaskType(
            name="long", title="long", input_model=TaskInput, runner="m:C", pool="gpu",
            max_run=11 * 3600 + 1,
        )  # fmt: skip
