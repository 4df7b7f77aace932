"""Every role allows what its room calls, and nothing else; held against a run of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from taskgate.local.cdk import ROOT
from tests.privilege.calls import Call, read_calls
from tests.privilege.report import EXPLAINED, Held, hold
from tests.privilege.roles import Role, roles
from tests.privilege.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("privilege")]


MINDS_KEYS = {"admin", "authorizer", "reconcile"}
"""Rooms whose work the keys are: they are read there, or counted."""


@pytest.fixture(scope="module")
def calls(story: Story) -> set[Call]:
    return read_calls(story.record)


@pytest.fixture(scope="module")
def deployed(story: Story) -> list[Role]:
    return [*roles(story.stack), story.worker]


@pytest.fixture(scope="module")
def held(deployed: list[Role], calls: set[Call]) -> list[Held]:
    return [hold(role, calls) for role in deployed]


def test_no_role_lacks_a_right_that_its_room_used(held: list[Held]) -> None:
    assert {role.room: role.missing for role in held if role.missing} == {}


def test_no_role_has_a_right_that_its_room_never_uses(held: list[Held]) -> None:
    assert {role.room: role.unexplained for role in held if role.unexplained} == {}


def test_every_room_was_driven_and_every_explanation_is_still_needed(held: list[Held]) -> None:
    rooms = {handler.parent.name for handler in (ROOT / "functions").glob("*/handler.py")}
    assert {role.room for role in held} == rooms | {"worker"}
    assert all(role.used for role in held)
    unused = {(role.room, right) for role in held for right in role.unused}
    assert set(EXPLAINED) <= unused


def test_the_same_call_for_an_items_key_of_another_kind_would_be_refused(
    deployed: list[Role], calls: set[Call]
) -> None:
    """The emulator does not judge `dynamodb:LeadingKeys`: so each recorded call is judged again here,
    by the deployed policies, as if it had asked for an API key.
    """
    tried = {role.room: set(_for_a_key(role, calls)) for role in deployed}
    assert {room for room, foreign in tried.items() if foreign} >= {"api", "worker", "stale_sweep"}
    for role in deployed:
        if role.room not in MINDS_KEYS:
            told = hold(role, tried[role.room]).missing
            assert len(told) == len(tried[role.room]), role.room


def _for_a_key(role: Role, calls: set[Call]) -> Iterator[Call]:
    table = ":table/taskgate-local-c0-tasks"
    for call in calls:
        if call.role == role.name and call.keys and call.resource.endswith(table):
            yield replace(call, keys=(*call.keys[1:], "KEY#abcdefghijkl"))
