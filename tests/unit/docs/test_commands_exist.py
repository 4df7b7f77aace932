"""Every command that a page names exists, with each option that the page gives it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from taskgate.cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
PAGES += [ROOT / "examples" / "README.md"]
CODE = re.compile(r"```(?P<language>[a-z]*)\n(?P<block>.*?)```|`(?P<inline>[^`\n]+)`", re.DOTALL)
NO_SHELL = {"python", "json", "yaml", "mermaid", "toml"}
TASKGATE = re.compile(r"(?:\$ )?(?:\.venv/bin/)?taskgate (?P<rest>[a-z-].*)")
MAKE = re.compile(r"(?:\$ )?make (?P<target>[a-z0-9-]+)(?P<rest>.*)")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def lines() -> Iterator[tuple[str, str]]:
    """Each line of shell and each piece of code in a sentence, with the page that it stands on."""
    for page in PAGES:
        for found in CODE.finditer(page.read_text("utf-8")):
            if found["language"] not in NO_SHELL:
                text = (found["block"] or found["inline"]).replace("\\\n", " ")
                for line in text.splitlines():
                    yield str(page.relative_to(ROOT)), line.strip()


def said(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    return sorted({(page, found[0]) for page, line in lines() if (found := pattern.match(line))})


def words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def resolved(given: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words that are left."""
    command: Any = typer.main.get_command(app)
    while given and isinstance(command, TyperGroup) and not given[0].startswith("-"):
        if given[0] in ("…", "..."):
            break
        assert given[0] in command.commands, f"there is no command {given[0]!r}"
        command, given = command.commands[given[0]], given[1:]
    return command, given


def unknown(line: str) -> list[str]:
    """The options in a line that its command does not have; a pipe ends the line."""
    found = TASKGATE.match(line)
    assert found
    command, rest = resolved(words(re.split(r" [|>&;] ?", found["rest"])[0]))
    known = {"--help"} | {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    options = [word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)]
    return [option for option in options if option not in known]


@pytest.mark.parametrize(("page", "line"), said(TASKGATE))
def test_every_taskgate_command_on_a_page_exists_with_its_options(page: str, line: str) -> None:
    assert unknown(line) == [], page


@pytest.mark.parametrize(("page", "line"), said(MAKE))
def test_every_make_target_on_a_page_exists_and_takes_the_variables_that_it_is_given(
    page: str, line: str
) -> None:
    found = MAKE.match(line)
    assert found
    assert re.search(rf"^{found['target']}:", MAKEFILE, re.MULTILINE), page
    for variable in re.findall(r"\b([A-Z_]+)=", found["rest"]):
        assert f"$({variable})" in MAKEFILE or f"origin {variable})" in MAKEFILE, page


def test_a_command_that_is_not_there_and_an_option_that_it_has_not_are_found() -> None:
    assert unknown("taskgate reconcile --stage prod --aply") == ["--aply"]
    assert unknown("taskgate keys issue --stage prod | tee key") == []
    with pytest.raises(AssertionError, match="no command 'recoil'"):
        unknown("taskgate recoil --stage prod")
    assert len(said(TASKGATE)) > 60
    assert len(said(MAKE)) > 15
