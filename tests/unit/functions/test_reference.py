"""What is checked in under docs/reference is what the code says today."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from functions import VERSION
from functions.api.reference import FOLDER, files

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["http.md", "openapi.json"])
def test_the_reference_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == files()[name], "run: python -m functions.api.reference"


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
