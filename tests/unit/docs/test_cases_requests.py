"""Every case of the page on requests is held by a test that is there, and says what is tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/cases-requests.md").read_text("utf-8")
NAMED = set(re.findall(r"`((?:tests|taskgate)/\S+\.py)::(test_\w+)`", PAGE))
WANTED = (
    "54 57 58 60 62 65 67 68 69 71 73 74 75 77 78 79 80 81 82 84 85 87 89 90 107 108 110 111 112"
)


@pytest.mark.parametrize(("file", "name"), sorted(NAMED))
def test_every_test_that_holds_a_case_of_requests_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_case_of_requests_has_its_input_its_promise_and_a_test() -> None:
    rows = re.findall(r"^\| B(\d+) \|(.*)\|$", PAGE, re.MULTILINE)
    assert [number for number, _ in rows] == WANTED.split()
    for _, row in rows:
        there, tried, holds, held = (cell.strip() for cell in row.split(" | "))
        assert there and tried and holds  # noqa: PT018 - one row, one reason
        assert "::test_" in held
