"""A replay is answered by the record, whatever the door would say to a new request by now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from taskgate.catalog import CATALOG, Catalog
from taskgate.errors import Unavailable
from taskgate.gateway import switching
from taskgate.plans import FREE
from taskgate.principal import Principal
from taskgate.switches import Kind, Switch
from tests.unit.functions.api_world import ADA, EVE, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.ports_between import Broken, counting
from tests.unit.functions.test_uploads import DAY, embedding, uploaded

Change = Callable[[ApiWorld], Principal]
"""What happens between the two submits; gives who sends the second."""


def intake_is_paused(api: ApiWorld) -> Principal:
    return paused(api, Switch(kind=Kind.INTAKE))


def type_is_refused(api: ApiWorld) -> Principal:
    return paused(api, Switch(kind=Kind.TYPE, name="embed_document", refuse=True))


def paused(api: ApiWorld, switch: Switch) -> Principal:
    switching.pause(api.world.ports, CATALOG, OPERATOR, switch, "an outage")
    api.world.clock.advance(6)
    return ADA


def lane_is_full(api: ApiWorld) -> Principal:
    api.world.lanes.waiting = lambda _: 100_001  # type: ignore[method-assign]
    api.world.clock.advance(6)
    return ADA


def books_are_full(api: ApiWorld) -> Principal:
    return replace(ADA, max_pending=1)


def plan_allows_less(api: ApiWorld) -> Principal:
    return replace(ADA, plan=replace(FREE, priorities=frozenset({"low"}), submits_per_minute=None))


def upload_grew_old(api: ApiWorld) -> Principal:
    api.world.clock.advance(DAY * 0.9)
    return ADA


def upload_is_gone(api: ApiWorld) -> Principal:
    api.world.results.look = lambda _: None  # type: ignore[method-assign]
    return ADA


CHANGES: dict[Change, str] = {
    intake_is_paused: "intake_paused",
    type_is_refused: "type_paused",
    lane_is_full: "lane_full",
    books_are_full: "too_many_pending_tasks",
    plan_allows_less: "priority_not_allowed",
    upload_grew_old: "invalid_request",
    upload_is_gone: "invalid_input",
}


@pytest.fixture
def body(api: ApiWorld) -> dict[str, Any]:
    """A request with an upload that is five days and a half old."""
    upload_id = uploaded(api)
    api.world.clock.advance(5.5 * DAY)
    return embedding(upload_id)


@pytest.mark.parametrize(
    ("change", "code"), CHANGES.items(), ids=lambda part: getattr(part, "__name__", part)
)
def test_what_would_be_refused_by_now_is_answered_with_the_task_that_its_key_made(
    api: ApiWorld, body: dict[str, Any], change: Change, code: str
) -> None:
    first = api.submit(body, key="k")
    assert first.status == 202, first.text
    caller = change(api)
    assert api.submit(body, caller, key="fresh").code == code
    again = api.submit(body, caller, key="k")
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(api.tasks) == 1


def test_another_request_under_a_used_key_and_anothers_key_are_refused_as_they_are(
    api: ApiWorld, body: dict[str, Any]
) -> None:
    api.submit(body, key="k")
    intake_is_paused(api)
    assert api.submit(PROMPT, key="k").code == "intake_paused"
    assert api.submit(body, EVE, key="k").code == "intake_paused"
    assert api.submit(body).code == "intake_paused"


def test_a_replay_of_a_task_whose_type_is_served_no_more_is_answered(api: ApiWorld) -> None:
    first = api.submit(PROMPT, key="k").json["id"]
    fewer = Catalog([kind for kind in CATALOG if kind.name != PROMPT["type"]])
    later = ApiWorld(catalog=fewer, between=lambda _: api.world.ports)
    assert later.submit(PROMPT, key="fresh").code == "unknown_task_type"
    assert later.submit(PROMPT, key="k").json["id"] == first


def test_a_refusal_with_a_key_costs_one_read_and_one_without_none() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    intake_is_paused(api)
    api.submit()
    del calls[:]
    api.submit()
    assert calls == []
    api.submit(key="k")
    assert calls == ["tasks.find_replay"]


def test_a_key_that_cannot_be_looked_up_is_no_refusal() -> None:
    broken: list[str] = ["find_replay"]

    def between(ports: Any) -> Any:
        return replace(ports, tasks=Broken(ports.tasks, broken, Unavailable()))

    api = ApiWorld(between=between)
    assert api.submit(PROMPT, replace(ADA, plan=FREE), key="k").status == 202
    intake_is_paused(api)
    assert api.submit(PROMPT, key="k").code == "unavailable"
