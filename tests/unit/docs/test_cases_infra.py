"""Every case of the page on infrastructure is held by a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/cases-infra.md").read_text("utf-8")
NAMED = set(re.findall(r"`((?:tests|taskgate)/\S+\.py)::(test_\w+)`", PAGE))
WANTED = {113, 115, 116, 118, 120, 121, 122, 124, 125, 127, 128, 129, 130}


@pytest.mark.parametrize(("file", "name"), sorted(NAMED))
def test_every_test_that_holds_a_case_of_infrastructure_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_case_of_infrastructure_has_its_input_its_promise_and_a_test() -> None:
    rows = {int(n): line for n, line in re.findall(r"^\| B(\d+) \|(.*)\|$", PAGE, re.MULTILINE)}
    assert set(rows) == WANTED
    for row in rows.values():
        there, tried, holds, held = (cell.strip() for cell in row.split(" | "))
        assert there and tried and holds  # noqa: PT018 - one row, one reason
        assert "::test_" in held
