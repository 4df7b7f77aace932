"""What the pages say of the code is what the code says."""

import re
import runpy
from pathlib import Path

import pytest

from taskgate.lifecycle.states import RULES, State, Verb

ROOT = Path(__file__).parents[3]
GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))


@pytest.mark.parametrize("name", GENERATE["PAGES"])
def test_the_generated_parts_of_a_page_are_up_to_date(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    assert GENERATE["written"](page) == page, "run: python docs/generate.py"


def test_the_two_diagrams_together_show_every_verb_and_every_state() -> None:
    shown = list(GENERATE["arrows"](Verb))
    assert {verb for _, _, verb in shown} == set(RULES)
    assert {target for _, target, _ in shown} == set(State)
    page = (ROOT / "docs/explanation/lifecycle.md").read_text("utf-8")
    for source, target, verb in shown:
        arrow = rf"{re.escape(source or '[*]')} --> {target}: .*\b{verb.replace('_', ' ')}\b"
        assert re.search(arrow, page)


def test_a_held_task_is_never_shown_as_canceled_at_once() -> None:
    shown = {(s, t) for s, t, verb in GENERATE["arrows"](Verb) if verb is Verb.CANCEL}
    assert (State.PROCESSING, State.CANCELING) in shown
    assert (State.PROCESSING, State.CANCELED) not in shown
    assert (State.QUEUED, State.CANCELED) in shown


def test_every_test_that_the_guarantees_name_exists() -> None:
    page = (ROOT / "docs/guarantees.md").read_text("utf-8")
    sources = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("taskgate/testing/conformance/*.py")]
    code = "\n".join(path.read_text("utf-8") for path in sources)
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 20
    assert [name for name in sorted(named) if f"def {name}(" not in code] == []


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{page.relative_to(ROOT)} → {link}"
        for page in pages
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8"))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_every_decision_stands_in_the_index() -> None:
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text("utf-8")
    records = [path.name for path in folder.glob("[0-9]*.md")]
    assert records
    assert [name for name in sorted(records) if f"({name})" not in index] == []


def test_every_page_stands_in_an_index() -> None:
    docs = ROOT / "docs"
    indexes = [docs / "README.md", docs / "decisions/README.md", docs / "runbook/README.md"]
    listed = {
        (index.parent / link).resolve()
        for index in indexes
        for link in re.findall(r"\]\(([^)#:]+)", index.read_text("utf-8"))
    }
    pages = set(docs.glob("**/*.md")) - {docs / "README.md"}
    assert len(pages) > 50
    assert sorted(str(page.relative_to(docs)) for page in pages - listed) == []


def test_make_help_says_one_line_of_every_command() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE)
    told = dict(re.findall(r"^([a-z][a-z0-9-]*):.*## (.+)$", makefile, re.MULTILINE))
    phony = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)", makefile, re.MULTILINE)[0]
    assert sorted(told) == sorted(targets) == sorted(phony.replace("\\", "").split())
    assert [name for name, line in told.items() if len(line) > 85] == []
