"""A page that sends its reader to a file, a function or a test sends him somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.lifecycle.test_table import PROMISES

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
ROOMS = r"(?:taskgate|functions|gpu_worker|cdk_app|tests|docs|examples|bench)"
NAMED = re.compile(rf"[`\s]({ROOMS}/[\w/.-]*\w)(?=[`\s:,.)])")
MADE = frozenset({"gpu_worker/runners/word_count.py", "taskgate/catalog/word_count.py"})
"""Files that the page on task types has its reader write."""
CHANGE = (ROOT / "docs/how-to/change-a-transition.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("it tells of what was")
    named = set(NAMED.findall(page.read_text("utf-8"))) - MADE
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_example_of_changing_a_transition_begins_at_the_rule_as_it_stands() -> None:
    code = (ROOT / "taskgate/lifecycle/states.py").read_text("utf-8")
    (diff,) = re.findall(r"```diff\n(.*?)```", CHANGE, re.DOTALL)
    before = "\n".join(line[1:] for line in diff.splitlines() if not line.startswith("+"))
    assert before in code


def test_the_example_of_changing_a_transition_names_the_test_that_tells() -> None:
    ids = re.findall(r"test_a_verb_leads_from_these_states_to_those_and_no_others\[(.*)\]", CHANGE)
    assert ids == [f"{verb}: {why}" for verb, _, _, why in PROMISES if verb == "pause"]
