"""`taskgate pause`, `resume` and `switches` on a real store, as an operator types them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws.ports import build
from taskgate.cli import office
from taskgate.ports import Ports
from taskgate.switches import Kind
from taskgate.testing import aws_resources
from taskgate.testing.fake_gateway import FakeGateway
from tests.unit.cli.conftest import Run


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    with mock_aws():
        environment = aws_resources.create("switchboard")
        monkeypatch.setattr(office, "_environment", lambda stage: environment)
        yield build(environment)


def _on(ports: Ports, kind: Kind, name: str = "") -> bool:
    assert ports.switches
    return ports.switches.read_switches().on(kind, name, ports.now()) is not None


def test_a_lane_is_paused_shown_and_resumed(ports: Ports, run: Run) -> None:
    ran = run("pause", "lane", "gpu-low", "--stage", "dev", "--reason", "the driver", "--json")
    (switch,) = json.loads(ran.stdout)["switches"]
    assert (ran.code, switch["paused"], switch["reason"]) == (0, True, "the driver")
    assert switch["by"].startswith("operator:")
    assert _on(ports, Kind.LANE, "gpu-low")
    shown = run("switches", "--stage", "dev")
    assert "lane#gpu-low" in shown.stdout
    assert "the driver" in shown.stdout
    assert run("resume", "lane", "gpu-low", "--stage", "dev").code == 0
    assert not _on(ports, Kind.LANE, "gpu-low")
    ran = run("switches", "--stage", "dev", "--json")
    (switch,) = json.loads(ran.stdout)["switches"]
    assert [act["what"] for act in switch["acts"]] == ["pause", "resume"]


def test_the_intake_is_paused_for_a_while(ports: Ports, run: Run) -> None:
    ran = run("pause", "intake", "--stage", "dev", "--reason", "a move", "--for", "2h", "--json")
    (switch,) = json.loads(ran.stdout)["switches"]
    assert switch["until"] is not None
    assert _on(ports, Kind.INTAKE)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("pause", "lane", "gpu-urgent", "--reason", "x"), "name: one of"),
        (("resume", "lane", "low"), "name: one of"),
        (("resume", "type"), "name: one of"),
        (("pause", "lane", "gpu-low"), "reason: say why"),
        (("pause", "intake", "all", "--reason", "x"), "the intake has no name"),
        (("pause", "lane", "gpu-low", "--refuse", "--reason", "x"), "refuse: only for a type"),
    ],
)
def test_a_switch_of_nothing_is_refused_by_the_field(
    ports: Ports, run: Run, command: tuple[str, ...], says: str
) -> None:
    ran = run(*command, "--stage", "dev")
    assert ran.code == 2
    assert says in ran.stderr
    assert "route" not in ran.stderr
    assert ports.switches
    assert ports.switches.read_switches().version == 0


def test_pause_with_an_id_holds_one_task_back(gateway: FakeGateway, run: Run, look) -> None:
    gateway.answers("POST /v1/tasks/task_1/pause", look("paused"))
    assert run("pause", "task_1", "--reason", "wait").code == 0
    assert gateway.seen[0].json == {"reason": "wait"}
    assert run("pause", "task_1", "gpu-low").code == 2


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_what_is_neither_a_switch_nor_an_id_is_refused_here_and_nobody_is_asked(
    gateway: FakeGateway, run: Run, command: str
) -> None:
    ran = run(command, "lanes", "--local", "--reason", "x")
    assert ran.code == 2
    assert "lane NAME, type NAME, intake" in ran.stderr
    assert gateway.seen == []


def test_that_nothing_is_paused_is_said(ports: Ports, run: Run) -> None:
    ran = run("switches", "--stage", "dev")
    assert (ran.code, ran.stdout) == (0, "Nothing is paused, and nothing ever was\n")
