"""What a page tells the reader to type works: the commands parse, and the Python runs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from taskgate.cli.main import app
from taskgate.testing.fake_gateway import Answer, FakeGateway

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
USAGE = 2


def commands() -> Iterator[str]:
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            yield from re.findall(r"^\$ taskgate (?!dev|demo)(.*)$", block, re.MULTILINE)


def snippets() -> Iterator[str]:
    for page in ("README.md", "docs/quickstart.md", "docs/how-to/call-from-python.md"):
        yield from re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGateway]:
    with FakeGateway() as fake:
        monkeypatch.setenv("TASKGATE_URL", fake.url)
        monkeypatch.setenv("TASKGATE_API_KEY", "tg_key")
        # Commands for operators would ask AWS itself, with a made-up key, and wait for its network.
        monkeypatch.setenv("AWS_ENDPOINT_URL", fake.url)
        done = {"id": "task_1", "state": "succeeded"}
        fake.answers("POST /v1/tasks", Answer(202, done))
        fake.answers("GET /v1/tasks/task_1", Answer(body=done))
        fake.answers("GET /v1/tasks/task_1/status", Answer(body=done))
        fake.answers("GET /v1/tasks/task_1/result", Answer(body={"files": []}))
        yield fake


@pytest.mark.parametrize("line", list(commands()))
def test_every_command_on_a_page_is_one_that_the_command_line_takes(
    gateway: FakeGateway, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line.replace("task_01…", "task_1")))
    assert result.exit_code != USAGE, result.stderr


@pytest.mark.parametrize("snippet", list(snippets()))
def test_every_piece_of_python_for_callers_runs(
    gateway: FakeGateway, snippet: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "page", "exec"), {})  # noqa: S102 - our own page
    assert gateway.asked("POST /v1/tasks")
