"""What is checked in under docs/reference is what the code says today."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from functions import VERSION
from functions.api import contract_table
from functions.api.advice import ADVICE
from functions.api.openapi import OPERATIONS
from functions.api.reference import FOLDER, files
from functions.http.problems import kinds
from taskgate.routes import ROUTES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["http.md", "contract.md", "openapi.json"])
def test_the_reference_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == files()[name], "run: python -m functions.api.reference"


def test_every_error_code_says_what_to_do_and_no_line_is_of_a_code_that_is_gone() -> None:
    assert set(ADVICE) == {kind.code for kind in kinds()}


def test_every_route_stands_in_the_table_with_its_scope_and_each_limit_that_it_has() -> None:
    rows = {line.split(" | ")[0]: line for line in contract_table.page().splitlines()}
    for route in ROUTES:
        row = rows[f"| `{route.method} {route.path}`"]
        operation = OPERATIONS[route.method, route.path]
        assert operation.scope is None or f"`{operation.scope}`" in row
        assert all(f"`{kind.code}`" in row for kind in operation.refuses)
    for _, code in contract_table.limits().values():
        assert code in ADVICE or not code.replace("_", "").isalpha() or code == "–"


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
