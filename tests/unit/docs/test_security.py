"""Each control of the page on security has a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/security.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/\S+\.py)::(test_\w+)`", PAGE)))
CONTROLS = PAGE.partition("## Controls")[2].partition("## What is not promised")[0]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_test_that_holds_a_control_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_control_names_the_test_that_holds_it() -> None:
    rows = [r for r in CONTROLS.splitlines() if r.startswith("| ") and r != "| control | held by |"]
    assert len(rows) > 20
    assert [row for row in rows if "::test_" not in row] == []
