"""One run of schemathesis: all that the document allows, and what it forbids, asked of one address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
"""All but `positive_data_acceptance`: four things that we refuse no schema can forbid. A cursor is
sealed, so no pattern tells a good one; `161.0` is an integer to JSON Schema and a float to us, as 1
and 1.0 are two requests; an input belongs to its type; a time must lie ahead, and not beside a delay.
"""
COUNT: Final = re.compile(r"Test cases:\s*\n\s*(\d+) generated", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it."""

    cases: int
    good: bool
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is asked, of whom and by whom."""

    url: str
    key: str
    task_ids: Mapping[str, Sequence[str]]
    """By operation, and "" for all others: most requests for a task are about one of these."""
    named: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Values of other parameters (``path.key_id``), by operation, and "" for all others."""
    examples: int
    seconds: int
    """Whatever is not asked by then is a failure, not a success."""
    seed: int = 20261129
    without: Sequence[str] = ()
    """Checks that the address cannot meet, each with its reason where the plan is made."""


def ask(plan: Plan, folder: Path) -> Run:
    """Ask all of it, and count."""
    config = folder / "schemathesis.toml"
    config.write_text(_config(plan), "utf-8")
    program = Path(sys.executable).with_name("schemathesis")
    # The address is named because schemathesis does not take "./" as relative to the document.
    where = [f"{plan.url}/openapi.json", "--url", plan.url]
    command = [str(program), "--config-file", str(config), "run", *where]
    done = subprocess.run(
        [*command, "--no-color", "--checks", ",".join(c for c in CHECKS if c not in plan.without)],
        capture_output=True,
        check=False,
        cwd=folder,
        text=True,
        timeout=plan.seconds,
    )
    counted = COUNT.search(done.stdout)
    cases = int(counted[1]) if counted else 0
    return Run(cases, done.returncode == 0 and cases > 0, done.stdout + done.stderr)


def _config(plan: Plan) -> str:
    """JSON texts are TOML texts, too."""
    return f"""\
seed = {plan.seed}
max-redirects = 0
request-timeout = 30
continue-on-failure = true
# They judge how easily requests are made up, by time and by chance, and say nothing of our answers.
suppress-health-check = ["all"]
headers = {{ Authorization = {json.dumps(f"Bearer {plan.key}")} }}
warnings = false

[generation]
database = "none"
max-examples = {plan.examples}
no-shrink = true

# Ids in the document's examples are on no record, and would be asked for before all others.
[phases.examples]
extra-data-sources.responses = false
[phases.coverage]
extra-data-sources.responses = false
[phases.fuzzing]
extra-data-sources.responses = false
[phases.stateful]
max-steps = 4
generation.max-examples = {plan.examples}

{"".join(_dictionaries(plan))}"""


def _dictionaries(plan: Plan) -> Iterator[str]:
    for operation in sorted({"", *plan.named, *plan.task_ids}):
        values = dict(plan.named.get(operation, {}))
        if operation in plan.task_ids:
            values["path.task_id"] = plan.task_ids[operation]
        names = {parameter: f"{operation or 'others'}-{n}" for n, parameter in enumerate(values)}
        for parameter, name in names.items():
            yield f"[dictionaries.{name}]\nvalues = {json.dumps(list(values[parameter]))}\n"
        if operation:
            yield f'[[operations]]\ninclude-operation-id = "{operation}"\n[operations.parameters]\n'
        else:
            yield "[parameters]\n"
        for parameter, name in names.items():
            yield f'"{parameter}" = {{ dictionary = "{name}", probability = 0.8 }}\n'
