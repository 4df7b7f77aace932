"""One AWS emulator for each test process, with bare tables, lanes and a bucket."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskgate.aws.ports import build
from taskgate.local.emulator import Emulator
from taskgate.ports import Ports
from taskgate.settings import Environment
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance import World

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder: Path = tmp_path_factory.mktemp("emulator")
    emulator = Emulator(folder)
    yield emulator
    emulator.stop()


@pytest.fixture(scope="session")
def environment(emulator: Emulator) -> Environment:
    with pytest.MonkeyPatch.context() as patch:
        _point(patch, emulator)
        return aws_resources.create("it")


@pytest.fixture(autouse=True)
def _emulated(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    _point(monkeypatch, emulator)


@pytest.fixture(scope="session")
def ports(environment: Environment, emulator: Emulator) -> Iterator[Ports]:
    with pytest.MonkeyPatch.context() as patch:
        _point(patch, emulator)
        ports = build(environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


@pytest.fixture
def owner() -> Owner:
    """A user that no other test shares."""
    return Owner("acme", f"user{next(_NUMBERS)}")


@pytest.fixture
def world(ports: Ports, owner: Owner) -> World:
    return World(ports, owner=owner)


def _point(patch: pytest.MonkeyPatch, emulator: Emulator) -> None:
    for name, value in emulator.client_variables.items():
        patch.setenv(name, value)
