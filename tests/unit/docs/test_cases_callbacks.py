"""What the pages say of callbacks and chains is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

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
