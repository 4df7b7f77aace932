"""What pages for operators name is there: AWS's own commands with their options, and words of the code."""

from __future__ import annotations

import re
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name

from taskgate.cli import exits
from tests.unit.docs.test_commands_exist import ROOT, lines, words

AWS = re.compile(r"(?:\$ )?aws (?P<service>[a-z0-9-]+) (?P<operation>[a-z0-9-]+)(?P<rest>.*)")
OF_THE_CLI_ITSELF = {("s3", "cp")}
"""Commands that are no operation of a service."""
RENAMED = {"--notification-endpoint": "--endpoint"}
"""Parameters whose name the command line needs for itself."""
PAGES = [
    *sorted((ROOT / "docs" / "runbook").glob("*.md")),
    *(ROOT / "docs" / "how-to" / f"{name}.md" for name in ("deploy", "upgrade-and-roll-back")),
    *(ROOT / "docs" / "how-to" / f"{name}.md" for name in ("restore", "drain-workers", "redrive")),
]
WORD = re.compile(r"`([A-Za-z]+(?:_[A-Za-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)`")
OF_AWS = {"LatestRestorableDateTime", "VcpuLimitExceeded", "WarmThroughput"}
CODE = "\n".join(
    path.read_text("utf-8")
    for folder in ("taskgate", "functions", "gpu_worker", "cdk_app")
    for path in sorted((ROOT / folder).rglob("*.py"))
) + (ROOT / "Makefile").read_text("utf-8")


def commands() -> list[tuple[str, str]]:
    return sorted({(page, found[0]) for page, line in lines() if (found := AWS.match(line))})


def unknown(line: str) -> list[str]:
    """What of a line AWS does not know: its operation, or options."""
    found = AWS.match(line)
    assert found
    service, operation = found["service"], found["operation"]
    if (service, operation) in OF_THE_CLI_ITSELF:
        return []
    model = botocore.session.get_session().get_service_model(service)
    if operation == "wait":
        operation = "describe-table" if "table-exists" in found["rest"] else found["rest"]
    known = {xform_name(name, "-"): name for name in model.operation_names}
    if operation not in known:
        return [operation]
    shape = model.operation_model(known[operation]).input_shape
    options = {f"--{xform_name(name, '-')}" for name in shape.members}
    given = [RENAMED.get(word, word) for word in words(found["rest"]) if word.startswith("--")]
    return [option for option in given if option.replace("--no-", "--") not in options]


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_aws_command_on_a_page_is_an_operation_of_that_service_with_its_options(
    page: str, line: str
) -> None:
    assert unknown(line) == [], page


def test_an_operation_or_an_option_that_aws_does_not_have_is_found() -> None:
    assert unknown("aws sns subscribe --topic x") == ["--topic"]
    assert unknown("aws ecr make-repository") == ["make-repository"]
    assert len(commands()) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_event_metric_code_and_setting_that_a_page_names_is_a_word_of_the_code(
    page: Path,
) -> None:
    named = set(WORD.findall(page.read_text("utf-8"))) - OF_AWS
    # What the sweep did is told by a field for each kind of act.
    said = {word.removeprefix("did_") for word in named}
    assert {word for word in said if not re.search(rf"\b{word}\b", CODE)} == set()


def test_what_a_page_shows_of_a_refusal_is_what_the_command_advises() -> None:
    advised = [
        re.escape(advice).replace(re.escape("{wait}"), r"\d+ s")
        for advice in exits._BY_CODE.values()
    ]
    shown = [
        block.group("advice")
        for page in PAGES
        for block in re.finditer(
            r"^error: .*\n +(?P<advice>.+)$", page.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert len(shown) >= 2
    for advice in shown:
        assert any(re.fullmatch(known, advice) for known in advised), advice
