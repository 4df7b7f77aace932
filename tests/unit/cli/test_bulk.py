"""`taskgate bulk` on a real store, as an operator types it; the work as the sweep does it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.cli import office
from taskgate.gateway.office import bulk_working
from taskgate.lifecycle.states import State
from taskgate.testing import aws_resources
from taskgate.testing.conformance import World
from tests.unit.cli.conftest import Run

PLAN = ("bulk", "plan", "cancel", "--tenant", "acme", "--reason", "a flood", "--stage", "dev")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with mock_aws():
        environment = aws_resources.create("bulkoffice")
        monkeypatch.setattr(office, "_environment", lambda stage: environment)
        yield World(build(environment))


def _worked(world: World) -> int:
    ports = world.ports
    return bulk_working.work(ports, CATALOG, 16, ports.now() + 60_000)


def test_a_flood_is_shown_confirmed_and_canceled(world: World, run: Run) -> None:
    tasks = [world.new(State.QUEUED) for _ in range(25)]
    dry = json.loads(run(*PLAN, "--json").stdout)
    assert (dry["count"], dry["state"], len(dry["sample"])) == (25, "planned", 10)
    assert _worked(world) == 0
    ran = run("bulk", "confirm", dry["id"], dry["token"], "--stage", "dev", "--json")
    assert (ran.code, json.loads(ran.stdout)["state"]) == (0, "running")
    assert _worked(world) == 25
    shown = json.loads(run("bulk", "show", dry["id"], "--stage", "dev", "--json").stdout)
    assert (shown["state"], shown["done"], shown["failed"]) == ("done", 25, {})
    told = run("bulk", "show", dry["id"], "--stage", "dev").stdout
    assert told.rstrip().endswith("done: 25 done")
    ended = [world.ports.tasks.get(task.id) for task in tasks]
    assert {task.state for task in ended if task} == {State.CANCELED}


def test_a_plan_is_told_to_people_with_the_command_that_confirms_it(world: World, run: Run) -> None:
    world.new(State.QUEUED)
    ran = run(*PLAN)
    assert "1 tasks to cancel" in ran.stdout
    assert "taskgate bulk confirm bulk_" in ran.stderr
    assert ran.stderr.rstrip().endswith("--stage dev")
    bulk, token = ran.stderr.split("confirm ")[1].split()[:2]
    assert "planned: 1 tasks fitted, not confirmed" in run("bulk", "list", "--stage", "dev").stdout
    stopped = run("bulk", "stop", bulk, "--stage", "dev")
    assert "stopped: 0 of about 1 done, the rest is left as it is" in stopped.stdout
    refused = run("bulk", "confirm", bulk, token, "--stage", "dev")
    assert (refused.code, "stopped before it began" in refused.stderr) == (2, True)


def test_a_plan_that_fits_nothing_offers_nothing_to_confirm(world: World, run: Run) -> None:
    ran = run(*PLAN)
    assert "0 tasks to cancel" in ran.stdout
    assert "nothing to confirm" in ran.stderr
    assert "bulk confirm" not in ran.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("plan", "delete", "--tenant", "a", "--reason", "x"), "one of cancel"),
        (("plan", "cancel", "--reason", "x"), "this would be every task"),
        (("plan", "redrive", "--tenant", "a", "--reason", "x"), "or give the day"),
        (("plan", "cancel", "--state", "schedule", "--reason", "x"), "did you mean scheduled?"),
        (("plan", "cancel", "--code", "lost", "--reason", "x"), "code must be one of"),
        (("plan", "redeliver", "--callback", "lost", "--reason", "x"), "given_up"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    world: World, run: Run, command: tuple[str, ...], says: str
) -> None:
    ran = run("bulk", *command, "--stage", "dev")
    assert ran.code == 2
    assert says in ran.stderr


@pytest.mark.parametrize("command", [("show",), ("stop",), ("confirm", "t")], ids=lambda c: c[0])
def test_an_unknown_bulk_act_exits_as_whatever_is_not_there(
    world: World, run: Run, command: tuple[str, ...]
) -> None:
    verb, *token = command
    ran = run("bulk", verb, "bulk_none", *token, "--stage", "dev")
    assert ran.code == 3
    assert "no such bulk act" in ran.stderr
