"""What the pages say of callbacks and chains is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from taskgate.testing.fake_gateway import Answer, FakeGateway
from tests.unit.functions.api_world import ApiWorld

ROOT = Path(__file__).parents[3]
CASES = (ROOT / "docs/explanation/cases-callbacks.md").read_text("utf-8")
CHAINS = (ROOT / "docs/how-to/chain-tasks.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", CASES)
WANTED = "91 93 95 96 98 99 100 101 102 104 105"


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_every_test_that_holds_a_case_of_callbacks_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


@pytest.mark.parametrize("number", WANTED.split())
def test_every_case_of_callbacks_has_a_line_with_a_test(number: str) -> None:
    (row,) = [line for line in CASES.splitlines() if line.startswith(f"| B{number} ")]
    assert "::test_" in row


@pytest.mark.parametrize("body", re.findall(r"```json\n(.*?)```", CHAINS, re.DOTALL))
def test_every_chain_on_the_page_is_one_that_the_gateway_takes(body: str) -> None:
    assert ApiWorld(stage="prod").submit(json.loads(body)).status == 202


@pytest.mark.parametrize("snippet", re.findall(r"```python\n(.*?)```", CHAINS, re.DOTALL))
def test_the_python_of_the_page_on_chains_runs(
    snippet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeGateway() as gateway:
        monkeypatch.setenv("TASKGATE_URL", gateway.url)
        monkeypatch.setenv("TASKGATE_API_KEY", "tg_key")
        task = {"id": "task_1", "state": "queued", "children": [{"id": "task_2"}]}
        gateway.answers("POST /v1/tasks", Answer(202, task))
        gateway.answers("GET /v1/tasks/task_1", Answer(body=task))
        exec(compile(snippet, "page", "exec", dont_inherit=True), {})  # noqa: S102 - our own page
        assert gateway.seen[0].json["then"][0]["type"] == "finish_image"
