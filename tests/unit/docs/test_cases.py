"""Every case of the page of all cases has a line, and each line a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/explanation/cases.md").read_text("utf-8")
NAMED = set(re.findall(r"`((?:tests|taskgate)/\S+\.py)::(test_\w+)`", PAGE))
WANTED = (
    "1 2 5 6 7 9 10 12 13 14 16 17 19 20 21 23 25 26 28 29 30 32 33 35 36 37 39 41 43 44 45 47 48"
    " 49 51 52 "
    "54 57 58 60 62 65 67 68 69 71 73 74 75 77 78 79 80 81 82 84 85 87 89 90 107 108 110 111 112"
)


@pytest.mark.parametrize(("file", "name"), sorted(NAMED))
def test_every_test_that_holds_a_case_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_every_case_has_one_line_with_a_test() -> None:
    rows = re.findall(r"^\| B(\d+) (\|.*)$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == [int(number) for number in WANTED.split()]
    assert all("::test_" in line for _, line in rows)
