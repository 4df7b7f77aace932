"""The command in process, against a gateway that says what the test tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from taskgate.cli.main import app
from taskgate.client import Backoff
from taskgate.testing.fake_gateway import Answer, FakeGateway

Run = Callable[..., "Ran"]


class Ran:
    """What a command did."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code, self.stdout, self.stderr = code, stdout, stderr


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeGateway]:
    with FakeGateway() as fake:
        monkeypatch.setenv("TASKGATE_URL", fake.url)
        monkeypatch.setenv("TASKGATE_API_KEY", "tg_key")
        monkeypatch.setattr("taskgate.client.watching.FASTEST", 0.001)
        monkeypatch.setattr("taskgate.client.transport.Backoff", lambda: Backoff(base=0.001))
        monkeypatch.chdir(tmp_path)
        yield fake


@pytest.fixture
def run() -> Run:
    def ran(*arguments: str) -> Ran:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return ran


@pytest.fixture
def look() -> Callable[..., Answer]:
    """An answer about task_1 that asks to be asked again at once."""

    def made(state: str, **more: object) -> Answer:
        body = {"id": "task_1", "type": "text_to_image", "state": state, "attempt": 1, **more}
        return Answer(200, body, {"Retry-After": "0"})

    return made
