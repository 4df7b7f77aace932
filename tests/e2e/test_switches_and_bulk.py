"""Switches and bulk acts on the deployed local stack, where each function is held to its role."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.cli.connection import LocalNote
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.switching import KnownSwitches
from taskgate.lifecycle.states import State
from taskgate.local import LocalStack
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.switches import Kind
from taskgate.task import Owner, Task
from tests.e2e.waiting import until
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("switches")]

WHO = Principal(Owner("switched", "otto"), SCOPES, 100, "k1")


@pytest.fixture
def ports(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    for name, value in stack.client_variables.items():
        monkeypatch.setenv(name, value)
    ports = build(stack.environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


@pytest.fixture
def local(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in which `--local` means this stack."""
    LocalNote(stack.api_url, "tg_none", stack.endpoint_url).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")


def submitted(ports: Ports, stack: LocalStack) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": "hello"}, priority="low")
    return submitting.submit(ports, CATALOG, stack.environment, WHO, request).task


def asked(run: Run, *command: str) -> Any:
    ran = run(*command, "--local", "--json")
    assert ran.code == 0, ran.stderr
    return json.loads(ran.stdout)


def carried_out(stack: LocalStack, run: Run, bulk_id: str) -> Any:
    """The act once it is done: by this sweep, or by that of the clock, which may have begun it."""

    def done() -> Any:
        stack.sweep()
        shown = asked(run, "bulk", "show", bulk_id)
        return shown if shown["state"] == "done" else None

    return until(done)


def test_the_sweep_minds_a_pause_with_the_rights_that_it_has(
    stack: LocalStack, ports: Ports, local: None, run: Run
) -> None:
    asked(run, "pause", "lane", "cpu-low", "--reason", "the driver")
    try:
        assert KnownSwitches().now(ports).on(Kind.LANE, "cpu-low", ports.now())
        task = submitted(ports, stack)
        stack.sweep()
        found = ports.tasks.get(task.id)
        assert found is not None
        assert found.state is State.QUEUED
    finally:
        asked(run, "resume", "lane", "cpu-low", "--reason", "done")


def test_a_bulk_cancel_is_done_by_the_sweeps_function(
    stack: LocalStack, ports: Ports, local: None, run: Run
) -> None:
    tasks = [submitted(ports, stack) for _ in range(23)]
    dry = asked(
        run, "bulk", "plan", "cancel", "--tenant", "switched", "--user", "otto", "--reason", "flood"
    )
    assert dry["count"] >= len(tasks)
    asked(run, "bulk", "confirm", dry["id"], dry["token"])
    shown = carried_out(stack, run, dry["id"])
    assert shown["failed"] == {}
    ended = [ports.tasks.get(task.id) for task in tasks]
    assert {task.state for task in ended if task} == {State.CANCELED}


def test_live_tasks_of_a_type_and_a_day_of_problems_are_found_by_the_sweeps_role(
    stack: LocalStack, ports: Ports, local: None, run: Run
) -> None:
    submitted(ports, stack)
    today = asked(run, "switches")  # any answer: the way in is open
    assert "switches" in today
    plans = (
        ("cancel", "--tenant", "switched", "--type", "embed_document"),
        ("reopen", "--tenant", "switched", "--day", "2026-01-01"),
    )
    for plan in plans:
        dry = asked(run, "bulk", "plan", *plan, "--reason", "looked for")
        asked(run, "bulk", "confirm", dry["id"], dry["token"])
        shown = carried_out(stack, run, dry["id"])
    assert shown["done"] == 0
