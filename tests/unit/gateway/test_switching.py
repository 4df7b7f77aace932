"""What operators pause is held everywhere, costs no task anything, and is let go at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.catalog import CATALOG
from taskgate.errors import InvalidRequest, MissingScope, Unavailable
from taskgate.gateway import switching
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.work.claiming import Released
from taskgate.gateway.work.worker import Held
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.switches import Kind, Switch, Switches
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld

OLGA = Principal(Owner("taskgate", "olga"), SCOPES, 1, "aws")
LANE = Switch(kind=Kind.LANE, name="gpu-normal")
TYPE = Switch(kind=Kind.TYPE, name="text_to_image")
INTAKE = Switch(kind=Kind.INTAKE)
MINUTE = 60


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


def pause(api: ApiWorld, switch: Switch, reason: str = "the driver") -> Switch:
    return switching.pause(api.world.ports, CATALOG, OLGA, switch, reason)


def resume(api: ApiWorld, switch: Switch) -> Switch:
    return switching.resume(api.world.ports, CATALOG, OLGA, switch, "mended")


def swept(api: ApiWorld, minutes: int) -> None:
    for _ in range(minutes):
        api.world.clock.advance(MINUTE)
        api.sweep()


def tried(api: ApiWorld) -> Held | Released | None:
    for delivery in api.world.lanes.receive("gpu-normal"):
        return api.worker.claim(delivery)
    return None


def test_a_paused_intake_refuses_with_the_reason_and_loses_nothing_that_was_accepted(
    api: ApiWorld,
) -> None:
    accepted = api.submitted()
    pause(api, INTAKE)
    api.world.clock.advance(6)
    refused = api.submit(PROMPT)
    assert (refused.status, refused.code) == (503, "intake_paused")
    assert "the driver" in refused.json["detail"]
    assert refused.headers["Retry-After"] == "60"
    assert api.claim().task.id == accepted
    resume(api, INTAKE)
    api.world.clock.advance(6)
    assert api.submit(PROMPT).status == 202


def test_a_pause_with_an_end_says_when_to_come_back_and_ends_by_itself(api: ApiWorld) -> None:
    pause(api, replace(INTAKE, until=api.world.clock() + 30_000))
    refused = api.submit(PROMPT)
    assert refused.headers["Retry-After"] == "30"
    api.world.clock.advance(31)
    assert api.submit(PROMPT).status == 202


def test_a_paused_type_is_accepted_and_held_and_runs_when_it_is_resumed(api: ApiWorld) -> None:
    pause(api, TYPE)
    task_id = api.submitted()
    released = tried(api)
    assert released == Released("type#text_to_image is paused")
    assert api.world.state(task_id) is State.QUEUED
    resume(api, TYPE)
    api.world.clock.advance(31)
    held = tried(api)
    assert isinstance(held, Held)
    assert held.task.budgets.crashes.spent == 0


def test_a_paused_type_may_refuse_its_submits_too_and_others_are_accepted(api: ApiWorld) -> None:
    pause(api, replace(TYPE, refuse=True))
    refused = api.submit(PROMPT)
    assert (refused.status, refused.code) == (503, "type_paused")
    assert api.submit({"type": "embed_document", "input": {"text": "x"}}).status == 202


def test_a_message_that_was_received_before_the_lane_was_paused_is_put_back(api: ApiWorld) -> None:
    task_id = api.submitted()
    (delivery,) = api.world.lanes.receive("gpu-normal")
    pause(api, LANE)
    assert api.worker.claim(delivery) == Released("lane#gpu-normal is paused")
    assert api.world.state(task_id) is State.QUEUED
    assert len(api.world.lanes.queues["gpu-normal"]) == 1


def test_a_run_goes_on_while_its_lane_is_paused(api: ApiWorld) -> None:
    api.submitted()
    held = api.claim()
    pause(api, LANE)
    api.world.clock.advance(10)
    assert api.worker.beat(held, 0.5, "drawing") is None


def test_waiting_in_a_paused_lane_ends_no_task_sends_nothing_again_and_costs_no_crash(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    pause(api, LANE)
    before = api.world.lanes.total()
    swept(api, 90)  # three times its queue limit
    task = api.tasks[task_id]
    assert (task.state, task.sends, task.budgets.crashes.spent) == (State.QUEUED, 0, 0)
    assert api.world.lanes.total() == before
    resume(api, LANE)
    swept(api, 29)
    assert api.world.state(task_id) is State.QUEUED
    swept(api, 12)
    assert api.world.state(task_id) is State.TIMED_OUT
    error = api.tasks[task_id].error
    assert error is not None
    assert error.code is ErrorCode.QUEUE_TIMEOUT


def test_a_pause_that_no_look_fell_into_is_not_counted_as_waiting_either(api: ApiWorld) -> None:
    task_id = api.submitted()
    swept(api, 10)
    pause(api, LANE)
    api.world.clock.advance(19 * MINUTE)
    resume(api, LANE)
    swept(api, 20)
    assert api.world.state(task_id) is State.QUEUED


def test_the_whole_life_of_a_task_ends_though_its_lane_is_paused(api: ApiWorld) -> None:
    task_id = api.submitted()
    deadline = api.tasks[task_id].deadline_at
    pause(api, LANE)
    while api.world.clock() < deadline + MINUTE * 1000:
        api.world.clock.advance(10 * MINUTE)
        api.sweep()
    assert api.world.state(task_id) is State.TIMED_OUT


def test_a_task_whose_first_message_was_lost_is_sent_once_while_its_lane_is_paused(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    api.tasks[task_id] = replace(
        api.tasks[task_id], state=State.CREATED, sent_at=None, due_at=api.world.clock()
    )
    api.world.lanes.queues.clear()
    pause(api, LANE)
    swept(api, 40)
    assert (api.world.state(task_id), api.world.lanes.total()) == (State.QUEUED, 1)


def test_explain_says_who_paused_the_lane_and_which_limit_is_left(api: ApiWorld) -> None:
    task_id = api.submitted()
    pause(api, LANE)
    api.world.clock.advance(300)
    told = api.get(f"/v1/tasks/{task_id}/explain").json
    assert "The lane gpu-normal is paused by operator:olga/aws" in " ".join(told["sentences"])
    assert told["waits_for"] == "an operator to resume the lane gpu-normal"
    assert told["next_limit"]["name"] == "deadline"
    resume(api, LANE)
    api.world.clock.advance(6)
    told = api.get(f"/v1/tasks/{task_id}/explain").json
    assert (told["waits_for"], told["next_limit"]["name"]) == (
        "a worker of the pool gpu: none was heard of lately",
        "queue_timeout",
    )


def test_while_a_switch_is_remembered_a_submit_reads_it_no_more(api: ApiWorld) -> None:
    api.submitted()
    reads = api.world.switches.reads
    for _ in range(3):
        api.submitted()
        assert not api.worker.paused("gpu-low")
    assert api.world.switches.reads <= reads + 1
    api.world.clock.advance(6)
    api.submitted()
    assert api.world.switches.reads > reads


def test_what_was_last_known_is_minded_while_the_store_is_away(api: ApiWorld) -> None:
    class Away:
        def read_switches(self) -> Switches:
            raise Unavailable

        def write_switches(self, switches: Switches) -> bool:
            raise Unavailable

    pause(api, LANE)
    known, ports = KnownSwitches(), api.world.ports
    assert known.now(ports).on(Kind.LANE, "gpu-normal", ports.now())
    api.world.clock.advance(60)
    away = replace(ports, switches=Away())
    assert known.now(away).on(Kind.LANE, "gpu-normal", ports.now())
    assert KnownSwitches().now(away) == Switches(read=False)


def test_two_operators_at_once_lose_no_act(api: ApiWorld) -> None:
    store, real = api.world.switches, api.world.switches.write_switches
    lost = [True]

    def outrun(switches: Switches) -> bool:
        if lost.pop() if lost else False:
            real(store.read_switches().with_(TYPE.turned(pause_act(api))))
        return real(switches)

    store.write_switches = outrun  # type: ignore[method-assign]
    pause(api, LANE)
    on = store.read_switches()
    assert on.holding("gpu-normal", "x", api.world.clock())
    assert on.holding("x", "text_to_image", api.world.clock())


def pause_act(api: ApiWorld) -> switching.Act:
    return switching.Act(api.world.clock(), "operator:bo/aws", "pause", "mine")


def test_resuming_what_is_not_paused_writes_nothing(api: ApiWorld) -> None:
    resume(api, LANE)
    assert api.world.switches.read_switches().version == 0


def test_only_an_operator_turns_a_switch(api: ApiWorld) -> None:
    with pytest.raises(MissingScope):
        switching.pause(api.world.ports, CATALOG, ADA, LANE, "mine")
    assert api.world.switches.read_switches() == Switches()


@pytest.mark.parametrize(
    ("switch", "field"),
    [
        (Switch(kind=Kind.LANE, name="gpu-urgent"), "name"),
        (Switch(kind=Kind.TYPE, name="nothing"), "name"),
        (Switch(kind=Kind.INTAKE, name="gpu"), "name"),
        (replace(LANE, until=1), "until"),
        (replace(LANE, refuse=True), "refuse"),
    ],
)
def test_a_switch_of_nothing_cannot_be_turned(api: ApiWorld, switch: Switch, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        pause(api, switch)
    assert [f.field for f in refused.value.fields] == [field]
    assert api.world.switches.read_switches() == Switches()


def test_a_switch_is_not_turned_without_a_reason(api: ApiWorld) -> None:
    with pytest.raises(InvalidRequest):
        pause(api, LANE, "")


def test_queues_show_what_is_paused(api: ApiWorld) -> None:
    pause(api, LANE)
    pause(api, TYPE)
    body = api.get("/v1/queues", OLGA).json
    paused = {queue["lane"]: queue["paused"] for queue in body["queues"]}
    assert paused["gpu-low"] is None
    assert paused["gpu-normal"]["by"] == "operator:olga/aws"
    assert body["types"]["text_to_image"]["refuses"] is False
    assert body["intake"] is None
