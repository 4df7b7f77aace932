"""One key, one task: whoever sends it, however often, whatever happened in between."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from taskgate.errors import Unavailable
from taskgate.ports import Lanes, Message, Ports
from taskgate.principal import Principal
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, EVE, PROMPT, ApiWorld
from tests.unit.functions.http_events import Answer
from tests.unit.functions.ports_between import Broken, breaking


def test_the_same_request_again_answers_with_the_same_task(api: ApiWorld) -> None:
    first, again = api.submit(key="k"), api.submit(key="k")
    assert first.json["id"] == again.json["id"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (first.status, again.status) == (202, 202)
    assert len(api.tasks) == 1
    assert api.world.lanes.total() == 1


def test_a_replay_of_a_task_that_has_ended_answers_200(api: ApiWorld, tmp_path: Path) -> None:
    api.submit(key="k")
    api.succeed(api.claim(), tmp_path)
    again = api.submit(key="k")
    assert (again.status, again.json["state"]) == (200, "succeeded")


@pytest.mark.parametrize(
    "other",
    [
        {**PROMPT, "input": {"prompt": "another"}},
        {**PROMPT, "priority": "high"},
        {**PROMPT, "metadata": {"a": "b"}},
        {**PROMPT, "expected_seconds": 5},
        {"type": "embed_document", "input": {"text": "a lighthouse"}},
    ],
    ids=lambda other: json.dumps(other)[-40:],
)
def test_the_same_key_with_another_request_is_refused(api: ApiWorld, other: object) -> None:
    api.submit(key="k")
    answer = api.submit(other, key="k")
    assert (answer.status, answer.code) == (422, "idempotency_key_reused")
    assert answer.fields == ["Idempotency-Key"]
    assert len(api.tasks) == 1


def test_the_order_of_keys_does_not_make_another_request(api: ApiWorld) -> None:
    first = api.submit('{"type":"text_to_image","input":{"prompt":"x","seed":1}}', key="k")
    again = api.submit('{"input":{"seed":1,"prompt":"x"},"type":"text_to_image"}', key="k")
    assert first.json["id"] == again.json["id"]


def test_the_same_key_of_another_tenant_or_user_is_another_key(api: ApiWorld) -> None:
    bob = Principal(Owner("acme", "bob"), ADA.scopes, 50, "k3")
    ids = {api.submit(caller=caller, key="1").json["id"] for caller in (ADA, EVE, bob)}
    assert len(ids) == 3


def test_a_refused_request_does_not_use_up_its_key(api: ApiWorld) -> None:
    assert api.submit({**PROMPT, "input": {}}, key="k").status == 422
    assert api.submit(key="k").status == 202


def test_a_broken_write_does_not_use_up_its_key() -> None:
    broken = ApiWorld(between=breaking("tasks", "create", Unavailable()))
    assert broken.submit(key="k").status == 503
    assert not broken.tasks


def test_the_key_is_good_for_a_day_and_then_as_new(api: ApiWorld) -> None:
    first = api.submit(key="k").json["id"]
    api.world.clock.advance(24 * 3600 - 1)
    assert api.submit(key="k").json["id"] == first
    api.world.clock.advance(2)
    assert api.submit(key="k").json["id"] != first


def test_a_duplicate_that_comes_while_the_first_is_in_flight_gets_its_task() -> None:
    during: list[Answer] = []

    class Interrupted:
        """Before the first message is sent, the caller has lost patience and asks again."""

        def __init__(self, lanes: Lanes) -> None:
            self.lanes = lanes

        def send(self, lane: str, message: Message, delay: int = 0) -> None:
            if not during:
                during.append(api.submit(key="k"))
            self.lanes.send(lane, message, delay)

        def waiting(self, lane: str) -> int:
            return self.lanes.waiting(lane)

    api = ApiWorld(
        between=lambda ports: replace(ports, lanes=cast("Any", Interrupted(ports.lanes)))
    )
    first = api.submit(key="k")
    assert first.json["id"] == during[0].json["id"]
    assert (first.status, during[0].status) == (202, 202)
    assert len(api.tasks) == 1
    assert api.world.lanes.total() == 1


def test_a_replay_sends_what_a_died_first_try_had_not_sent() -> None:
    """The write went through and the send did not: the next try need not wait for the sweep."""
    broken = {"send"}

    def between(ports: Ports) -> Ports:
        return replace(ports, lanes=cast("Any", Broken(ports.lanes, broken, Unavailable())))

    api = ApiWorld(between=between)
    first = api.submit(key="k")
    assert (first.status, first.json["state"]) == (202, "created")
    broken.clear()
    api.world.clock.advance(31)
    assert api.submit(key="k").json["state"] == "queued"
    assert api.world.lanes.total() == 1
