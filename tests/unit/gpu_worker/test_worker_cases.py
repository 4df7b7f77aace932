"""What the pages say of the worker is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "cases-worker.md"
WANTED = "6 9 13 25 26 28 29 30 32 33 35 36 37 39 41 43 44 45 47 116 118 120 121"
NAMED = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", PAGE.read_text("utf-8"))


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_every_test_that_holds_a_case_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_case_of_the_worker_has_a_line_with_a_test_or_a_reason() -> None:
    rows = {
        cells[1].strip(): cells for line in PAGE.read_text("utf-8").splitlines()
        if len(cells := line.split("|")) == 6
    }  # fmt: skip
    for number in WANTED.split():
        cells = rows[f"B{int(number):02d}"]
        assert "::test_" in cells[4] or "does not apply" in cells[3]


@pytest.mark.parametrize("page", ["handle-errors", "drain-workers"])
def test_the_python_on_the_worker_pages_runs(page: str) -> None:
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec", dont_inherit=True), {"__name__": "page"})  # noqa: S102
