"""Where two features meet: no task is lost, doubled, stuck or ended unfairly between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgate.bulks import Bulk, BulkAct, BulkState, Wanted
from taskgate.catalog import CATALOG
from taskgate.errors import Unavailable
from taskgate.gateway import switching
from taskgate.gateway.door import prioritizing
from taskgate.gateway.office import bulk as bulk_acts
from taskgate.gateway.office import bulk_working, dead_letters
from taskgate.gateway.office.dead_letters import DeadLetter
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.switching import KnownSwitches
from taskgate.lifecycle.states import State
from taskgate.ports import Message, Ports
from taskgate.principal import SCOPES, Principal
from taskgate.shards import shard_of
from taskgate.switches import Kind, Switch, Switches
from taskgate.task import CallbackState, Owner
from taskgate.testing.memory.audit import MemoryArchive
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld

OLGA = Principal(Owner("taskgate", "olga"), SCOPES, 1, "aws")
LANE = Switch(kind=Kind.LANE, name="gpu-normal")
MINUTE = 60
DOCUMENT = {"type": "embed_document", "input": {"text": "x"}}
HOOKED = {**PROMPT, "callback_url": "https://example.com/taskgate"}
ILL = Attempt(503, Reason.SERVER_ERROR, 5)


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


def pause(api: ApiWorld, switch: Switch = LANE) -> None:
    switching.pause(api.world.ports, CATALOG, OLGA, switch, "the driver")


def resume(api: ApiWorld, switch: Switch = LANE) -> None:
    switching.resume(api.world.ports, CATALOG, OLGA, switch, "mended")


def swept(api: ApiWorld, minutes: int) -> None:
    for _ in range(minutes):
        api.world.clock.advance(MINUTE)
        api.sweep()


class Away:
    """Switches that nobody can read just now, or cannot make sense of."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read_switches(self) -> Switches:
        raise self.error

    def write_switches(self, switches: Switches) -> bool:
        raise self.error


@pytest.mark.parametrize("error", [Unavailable(), ValueError("a kind that a later version knows")])
def test_a_sweep_that_cannot_read_the_switches_ends_no_wait_and_does_the_rest(
    api: ApiWorld, error: Exception
) -> None:
    held = api.submitted()
    pause(api)
    swept(api, 40)
    lost = api.submitted(DOCUMENT)
    api.world.lanes.queues["cpu-normal"].clear()
    ports = replace(api.world.ports, switches=Away(error))
    for _ in range(25):
        api.world.clock.advance(MINUTE)
        sweeping.sweep(ports, range(16), api.world.clock() + 50_000)
    assert api.world.state(held) is State.QUEUED, "it waits under a switch, for all we know"
    assert [m.message.task_id for m in api.world.lanes.queues["cpu-normal"]] == [lost, lost]
    swept(api, 1)
    assert api.world.state(held) is State.QUEUED


def test_a_switch_that_cannot_be_read_stops_no_worker_and_no_submit(api: ApiWorld) -> None:
    ports = replace(api.world.ports, switches=Away(ValueError("a later version's")))
    known = KnownSwitches()
    assert known.now(ports).holding("gpu-normal", "text_to_image", 0) is None
    assert not known.now(ports).read


def test_a_task_that_leaves_a_paused_lane_by_its_priority_has_its_queue_limit_anew(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    pause(api)
    swept(api, 45)  # its queue limit is 30 minutes
    assert api.post(f"/v1/tasks/{task_id}/priority", {"priority": "low"}).status == 200
    swept(api, 29)
    assert api.world.state(task_id) is State.QUEUED
    swept(api, 2)
    assert api.world.state(task_id) is State.TIMED_OUT


def test_it_has_so_too_where_nobody_can_tell_whether_its_lane_was_paused(api: ApiWorld) -> None:
    task_id = api.submitted()
    pause(api)
    swept(api, 45)
    ports = replace(api.world.ports, switches=Away(Unavailable()))
    prioritizing.prioritize(ports, ADA, task_id, "low")
    swept(api, 29)
    assert api.world.state(task_id) is State.QUEUED


def test_another_priority_alone_does_not_begin_the_queue_limit_anew(api: ApiWorld) -> None:
    task_id = api.submitted()
    swept(api, 20)
    prioritizing.prioritize(api.world.ports, ADA, task_id, "low")
    swept(api, 12)
    assert api.world.state(task_id) is State.TIMED_OUT


def test_a_message_that_was_lost_while_its_lane_was_paused_is_sent_again_after_it(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    pause(api)
    swept(api, 60)
    api.world.lanes.queues["gpu-normal"].clear()
    resume(api)
    swept(api, 15)
    assert api.claim().task.id == task_id


def test_the_end_of_a_pause_sends_nothing_again_that_its_lane_gives_in_time(api: ApiWorld) -> None:
    task_id = api.submitted()
    pause(api)
    swept(api, 60)
    resume(api)
    swept(api, 2)
    assert len(api.world.lanes.queues["gpu-normal"]) == 1
    swept(api, 20)
    assert api.tasks[task_id].sends == 2, "and then no oftener than any other"


def test_a_dead_letter_of_a_task_that_a_switch_holds_is_answered_by_a_fresh_message(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    swept(api, 15)
    pause(api)
    swept(api, 60)
    api.world.lanes.queues["gpu-normal"].clear()
    letter = DeadLetter(
        id="m1", lane="gpu-normal", body="b", receives=10, sent_at=api.world.clock()
    )
    message = Message.of(api.tasks[task_id])
    assert dead_letters.answer(api.world.ports, MemoryArchive(), letter, message) == "resend"
    swept(api, 10)
    resume(api)
    assert api.claim().task.id == task_id


def test_a_bulk_act_goes_past_a_task_that_breaks_it_and_past_a_broken_bulk_act(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [api.submitted() for _ in range(5)]
    api.world.clock.advance(1)
    first, second = confirmed(api), confirmed(api)
    cancel = bulk_working.steering.cancel

    def broken(ports: Ports, who: Principal, task_id: str, *rest: Any) -> Any:
        if task_id == ids[2]:
            raise KeyError("a record that makes no sense")
        return cancel(ports, who, task_id, *rest)

    monkeypatch.setattr(bulk_working.steering, "cancel", broken)
    get = api.world.bulks.get_bulk
    monkeypatch.setattr(
        api.world.bulks, "get_bulk", lambda i: _raise() if i == first.id else get(i)
    )
    ports = api.world.ports
    assert bulk_working.work(ports, CATALOG, 16, ports.now() + 60_000) == 4
    done = get(second.id)
    assert done is not None
    assert done.state is BulkState.DONE
    assert dict(done.failed) == {"its record makes no sense": 1}, "once a task"


def _raise() -> Bulk:
    raise ValueError("a state that a later version knows")


def confirmed(api: ApiWorld) -> Bulk:
    dry = bulk_acts.plan(api.world.ports, OLGA, BulkAct.CANCEL, Wanted(tenant="acme"), "mended", 16)
    return bulk_acts.confirm(api.world.ports, OLGA, dry.bulk.id, dry.token)


def test_a_kept_result_whose_bytes_cannot_be_copied_just_now_makes_a_real_run(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = api.submitted(DOCUMENT)
    held = api.claim()
    api.post(f"/v1/tasks/{source}/cancel", {"mode": "soft"})
    api.succeed(held, tmp_path, "out.txt")

    def away(source: str, target: str) -> bool:
        raise Unavailable

    monkeypatch.setattr(api.world.results, "copy", away)
    answer = api.submit(DOCUMENT, key="once")
    assert (answer.status, answer.json["state"]) == (202, "queued")
    monkeypatch.undo()
    assert api.submit(DOCUMENT).json["state"] == "succeeded", "it is still there"
    assert api.world.tasks.books[ADA.owner, 0].balanced


def test_an_old_end_that_is_told_anew_waits_for_a_receiver_that_is_out_of_reach(
    api: ApiWorld,
) -> None:
    old = ended_with_callback(api)
    api.settle()
    api.world.clock.advance(4 * 24 * 3600)
    fresh = [ended_with_callback(api) for _ in range(5)]
    api.receiver_says = [ILL] * 5
    for task_id in fresh:
        api.outbox.settle(task_id)
    assert api.post(f"/v1/tasks/{old}/callback/redeliver").status == 202
    assert api.outbox.settle(old) == "put_off", "nobody has tried for it in three days"
    api.settle(hours=1)
    callback = api.tasks[old].callback
    assert callback is not None
    assert (callback.state, callback.tries) == (CallbackState.DELIVERED, 2)


def ended_with_callback(api: ApiWorld) -> str:
    task_id = api.submitted(HOOKED)
    api.fail(api.claim())
    return task_id


def test_a_callback_that_arrived_is_on_record_though_its_receivers_health_is_not(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = ended_with_callback(api)
    seen = api.world.receivers.get("acme|example.com:443")
    assert api.world.receivers.swap("acme|example.com:443", seen, replace(seen, failures=1))

    def away(*args: object) -> None:
        raise Unavailable

    monkeypatch.setattr(api.world.receivers, "swap", away)
    assert api.outbox.settle(task_id) == "delivered"
    assert api.outbox.settle(task_id) == "nothing_owed"
    assert len(api.letters) == 1


def test_one_shard_that_cannot_be_read_keeps_the_backstop_from_no_other(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        ended_with_callback(api)
    owed = api.world.tasks.owed

    def flaky(shard: int, *rest: Any) -> Any:
        if shard == 0:
            raise Unavailable
        return owed(shard, *rest)

    monkeypatch.setattr(api.world.tasks, "owed", flaky)
    done = api.outbox.errands_due(range(16), api.world.clock() + 50_000)
    assert done.errands == sum(shard_of(i, 16) != 0 for i in api.tasks)
