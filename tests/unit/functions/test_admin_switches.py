"""The operators' switches over HTTP: a lane, a type and the intake are paused and resumed."""

from __future__ import annotations

from typing import Any

import pytest

from taskgate.switches import Kind
from tests.unit.functions.api_world import ADA, OPERATOR, ApiWorld

SWITCHES = "/v1/admin/switches"
LANE = {"kind": "lane", "name": "gpu-low"}


def turn(api: ApiWorld, verb: str, **body: Any) -> Any:
    answer = api.post(f"{SWITCHES}/{verb}", body, OPERATOR)
    assert answer.status == 200, answer.text
    return answer.json


def test_a_paused_lane_is_told_with_who_when_and_why_and_resumed(api: ApiWorld) -> None:
    paused = turn(api, "pause", **LANE, reason="the driver")
    assert (paused["paused"], paused["by"], paused["reason"]) == (
        True, "operator:olga/k9", "the driver",
    )  # fmt: skip
    assert api.get(SWITCHES, OPERATOR).json["switches"] == [paused]
    api.world.clock.advance(5)
    resumed = turn(api, "resume", **LANE, reason="done")
    assert (resumed["paused"], resumed["until"]) == (False, None)
    assert [act["what"] for act in resumed["acts"]] == ["pause", "resume"]
    assert turn(api, "resume", **LANE) == resumed, "safe to repeat"


def test_a_paused_intake_refuses_submits_with_the_reason_until_its_time(api: ApiWorld) -> None:
    turn(api, "pause", kind="intake", reason="we move", until="2026-09-21T14:18:00Z")
    refused = api.submit()
    assert (refused.status, refused.code) == (503, "intake_paused")
    assert "we move" in refused.text
    api.world.clock.advance(86_400)
    assert api.submit().status == 202
    [shown] = api.get(SWITCHES, OPERATOR).json["switches"]
    assert (shown["paused"], shown["held_at"]) == (False, shown["until"])


def test_a_type_may_be_refused_at_the_door(api: ApiWorld) -> None:
    turn(api, "pause", kind="type", name="text_to_image", reason="the model", refuse=True)
    assert api.submit().code == "type_paused"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "gpu"}, "kind"),
    ({"name": "gpu-lowest"}, "name"),
    ({"kind": "intake"}, "name"),
    ({"reason": ""}, "reason"),
    ({"reason": "é" * 101}, "reason"),
    ({"until": "tomorrow"}, "until"),
    ({"until": "2020-01-01T00:00:00Z"}, "until"),
    ({"refuse": True}, "refuse"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_what_cannot_be_paused_is_refused_by_the_field(
    api: ApiWorld, wrong: dict[str, Any], field: str
) -> None:
    refused = api.post(f"{SWITCHES}/pause", {**LANE, "reason": "r", **wrong}, OPERATOR)
    assert (refused.status, refused.code) == (422, "invalid_request")
    assert [one["field"] for one in refused.json["errors"]] == [field]


def test_who_is_no_operator_turns_nothing(api: ApiWorld) -> None:
    assert api.post(f"{SWITCHES}/pause", {**LANE, "reason": "mine"}, ADA).code == "missing_scope"
    switches = api.world.switches.read_switches()
    assert switches.on(Kind.LANE, "gpu-low", api.world.clock()) is None
