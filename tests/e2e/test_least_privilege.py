"""Every role allows what its room calls, and nothing else; held against a run of everything."""

from __future__ import annotations

import pytest

from tests.privilege.calls import read_calls
from tests.privilege.report import EXPLAINED, Held, hold
from tests.privilege.roles import roles
from tests.privilege.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("privilege")]


@pytest.fixture(scope="module")
def held(story: Story) -> list[Held]:
    calls = read_calls(story.record)
    return [hold(role, calls) for role in (*roles(story.stack), story.worker)]


def test_no_role_lacks_a_right_that_its_room_used(held: list[Held]) -> None:
    assert {role.room: role.missing for role in held if role.missing} == {}


def test_no_role_has_a_right_that_its_room_never_uses(held: list[Held]) -> None:
    assert {role.room: role.unexplained for role in held if role.unexplained} == {}


def test_every_room_was_driven_and_every_explanation_is_still_needed(held: list[Held]) -> None:
    assert all(role.used for role in held)
    unused = {(role.room, right) for role in held for right in role.unused}
    assert set(EXPLAINED) <= unused
