"""Every case on the pages of cases has one line, and each line a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REQUESTS = (
    "54 57 58 60 62 65 67 68 69 71 73 74 75 77 78 79 80 81 82 84 85 87 89 90 107 108 110 111 112"
)
CASES = {
    "cases": "1 2 5 6 7 9 10 12 13 14 16 17 19 20 21 23 25 26 28 29 30 32 33 35 36 37 39 41 43 44 45 47"
    f" 48 49 51 52 {REQUESTS}",
    "cases-requests": REQUESTS,
    "cases-callbacks": "91 93 95 96 98 99 100 101 102 104 105",
    "cases-operations": "16 17 30 32 41 48 49 51 52 107 108 110 122",
    "cases-infra": "113 115 116 118 120 121 122 124 125 127 128 129 130",
}
TOLD_WHOLE = ("cases-requests", "cases-infra")
"""Pages whose lines say what was there, what is tried and what holds, before the test."""


def page(name: str) -> str:
    return (ROOT / f"docs/explanation/{name}.md").read_text("utf-8")


def rows(name: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| B(\d+) \|(.*)\|$", page(name), re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "test"),
    sorted({t for name in CASES for t in re.findall(r"`(\S+\.py)::(test_\w+)`", page(name))}),
)
def test_every_test_that_holds_a_case_exists(file: str, test: str) -> None:
    assert f"def {test}(" in (ROOT / file).read_text("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_every_case_of_a_page_has_one_line_with_a_test(name: str) -> None:
    assert sorted(int(number) for number, _ in rows(name)) == sorted(map(int, CASES[name].split()))
    assert [number for number, row in rows(name) if "::test_" not in row] == []


@pytest.mark.parametrize("name", TOLD_WHOLE)
def test_every_case_of_a_page_has_its_input_and_its_promise(name: str) -> None:
    for _, row in rows(name):
        there, tried, holds, _held = (cell.strip() for cell in row.split(" | "))
        assert there and tried and holds  # noqa: PT018 - one row, one reason
