"""One run of schemathesis: all that the document allows, and what it forbids, asked of one address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
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
    task_ids: Sequence[str]
    """Tasks in many states: half of all requests for a task are about one of these."""
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
headers = {{ Authorization = {json.dumps(f"Bearer {plan.key}")} }}
warnings = false

[dictionaries.tasks]
values = {json.dumps(list(plan.task_ids))}

[parameters]
"path.task_id" = {{ dictionary = "tasks", probability = 0.5 }}

[generation]
database = "none"
max-examples = {plan.examples}
no-shrink = true

[phases.stateful]
max-steps = 4
generation.max-examples = {plan.examples}
"""
