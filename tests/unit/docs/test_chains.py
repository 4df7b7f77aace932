"""What the page on chains shows is taken, and runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from taskgate.testing.fake_gateway import Answer, FakeGateway
from tests.unit.functions.api_world import ApiWorld

ROOT = Path(__file__).parents[3]
CHAINS = (ROOT / "docs/how-to/chain-tasks.md").read_text("utf-8")


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
