"""Every case of the operator's page is held by a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/cases-operations.md").read_text("utf-8")
NAMED = set(re.findall(r"`((?:tests|taskgate)/\S+\.py)::(test_\w+)`", PAGE))
WANTED = {16, 17, 30, 32, 41, 48, 49, 51, 52, 107, 108, 110, 122}


@pytest.mark.parametrize(("file", "name"), sorted(NAMED))
def test_every_test_that_holds_a_case_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_case_has_a_line_with_a_test() -> None:
    rows = {int(n): line for n, line in re.findall(r"^\| B(\d+) (\|.*)$", PAGE, re.MULTILINE)}
    assert set(rows) == WANTED
    assert all("::test_" in line for line in rows.values())
