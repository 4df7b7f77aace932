"""Old and new functions live side by side: this version goes on with what others wrote.

`tests/upgrades/items` holds what earlier versions really wrote (`tests/upgrades/record.py`); what a later
one may write is made of it, by the rules of `docs/how-to/upgrade-and-roll-back.md`.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from taskgate.lifecycle.states import State
from taskgate.task import Owner
from tests.upgrades.side_by_side import ENDS, ITEMS, SideBySide, side_by_side

RECORDED: Final = {
    path.stem: sorted(json.loads(path.read_text())["cases"])
    for path in sorted(ITEMS.glob("*.json"))
}
NEWEST: Final = "9b27a74"
OWNER: Final = Owner("acme", "ada")


def test_an_early_version_and_the_newest_one_are_recorded_in_every_state_that_they_had() -> None:
    assert {"6458221", "a782c9b", "8b80b3a", NEWEST} <= set(RECORDED)
    assert set(RECORDED["6458221"]) == ENDS.keys() - {"owing", "scheduled"}
    assert set(RECORDED[NEWEST]) == ENDS.keys()


@pytest.mark.parametrize("version", RECORDED)
def test_tasks_that_another_version_began_live_on_and_end_under_this_one(version: str) -> None:
    with side_by_side(version) as world:
        _all_end_well(world)
        assert world.told == ["https://hooks.example.com/a?b=c task.succeeded"] * (
            "owing" in world.cases
        )


def test_tasks_that_a_later_version_wrote_live_on_and_keep_the_fields_that_this_one_does_not_know() -> (
    None
):
    with side_by_side(NEWEST, _later) as world:
        _all_end_well(world)
        assert all(world.raw(case)["later"] == {"S": "a later version's"} for case in world.cases)


def test_limits_of_before_a_limit_with_a_default_are_filled_up_and_of_without_one_refused() -> None:
    with (
        side_by_side(NEWEST, lambda item: _cut(item, "limits")) as world,
        pytest.raises(TypeError, match="cancel_grace"),
    ):
        world.task("queued")


def _all_end_well(world: SideBySide) -> None:
    assert world.ports.tasks.ledger(OWNER).balanced
    ended = world.live_on()
    assert {case: task.state for case, task in ended.items()} == {c: ENDS[c] for c in ended}
    for task in ended.values():
        assert bool(task.result) == (task.state is State.SUCCEEDED)
        assert task.history[0].verb == "submit"
    books = world.ports.tasks.ledger(OWNER)
    assert books.balanced
    assert not books.active & {task.id for task in ended.values()}


def _later(item: dict[str, Any]) -> dict[str, Any]:
    """The item as a later version may write it: new attributes, and new parts at the end of lists."""
    grown = {**item, "later": {"S": "a later version's"}}
    for name, more in {"limits": 1, "budgets": 2}.items():
        if name in item:
            grown[name] = {"L": [*item[name]["L"], *[{"N": "7"}] * more]}
    for name in ("error", "callback"):
        if name in item:
            parts = json.loads(item[name]["S"])
            grown[name] = {"S": json.dumps([*parts, "later"])}
    if "result" in item:
        grown["result"] = {"L": [{"L": [*row["L"], {"S": "later"}]} for row in item["result"]["L"]]}
    return grown


def _cut(item: dict[str, Any], name: str) -> dict[str, Any]:
    return item | ({name: {"L": item[name]["L"][:-1]}} if name in item else {})
