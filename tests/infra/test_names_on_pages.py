"""What pages for operators name in an account is what the stacks make there."""

from __future__ import annotations

import re

import pytest

from cdk_app.bundle import ROOT
from taskgate.catalog import CATALOG
from taskgate.settings import stage

PREFIX = stage("prod").prefix
NAMED = re.compile(r"(?:<prefix>|taskgate-(?:dev|prod)-c0)((?:-[a-z<>]+)+)")
RESTORED = "-tasks-restored"
"""The one that an operator makes, by the page on restoring."""


def named() -> dict[str, set[str]]:
    """Names by their part after the prefix, with the pages that they stand on."""
    found: dict[str, set[str]] = {}
    for page in (ROOT / "docs").glob("**/*.md"):
        for name in NAMED.findall(page.read_text()):
            found.setdefault(name, set()).add(page.name)
    return found


@pytest.fixture(scope="module")
def made(synthesise, observed, workers_of, resolve) -> set[str]:
    """Every name that prod's stacks choose, and the stacks' own."""
    parts = ("data", "gateway", "observability", "workers")
    templates = [*synthesise("prod"), observed("prod"), workers_of("prod")]
    chosen = {
        str(value).rpartition("/")[2]
        for template in templates
        for resource in template.body["Resources"].values()
        for key, value in resolve(resource.get("Properties", {})).items()
        if key.endswith("Name") and isinstance(value, str)
    }
    return chosen | {f"{PREFIX}-{part}" for part in parts}


def test_every_name_on_a_page_is_one_that_a_stack_gives(made):
    wanted = named()
    assert len(wanted) > 10
    for name, pages in wanted.items():
        each = [name.replace("<pool>", pool) for pool in CATALOG.pools]
        if name != RESTORED:
            assert {f"{PREFIX}{one}" for one in each} <= made, (name, pages)
