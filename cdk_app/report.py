"""Says what a synthesised assembly holds, and lints it: ``python -m cdk_app.report <folder>``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from cdk_app.wildcards import ACKNOWLEDGED, unexplained

WAIVED: Final = (
    "W3005",  # CDK names a function's role both as its role and in DependsOn; harmless
)


def main(folder: Path) -> int:
    """Print each stack's resources by type, and what the checks found; 0 when that is nothing."""
    templates = sorted(folder.rglob("*.template.json"))
    bodies = [json.loads(template.read_text()) for template in templates]
    lines = [line for template in templates for line in _resources(template)]
    found = {
        "cdk-nag (AwsSolutions)": nag(folder),
        "cfn-lint": lint(templates).splitlines(),
        "unexplained wildcards": [line for body in bodies for line in unexplained(body)],
    }
    lines += [f"acknowledged findings, each with its reason: {sum(map(_acknowledged, bodies))}"]
    for check, findings in found.items():
        lines += [f"{check}: {len(findings)}", *(f"  {finding}" for finding in findings)]
    print("\n".join(lines))  # noqa: T201 - the answer itself
    return 1 if any(found.values()) else 0


def nag(folder: Path) -> list[str]:
    """What CDK's own checks and cdk-nag's rules found at the synth of this assembly."""
    reports = [json.loads(p.read_text()) for p in sorted(folder.rglob("validation-report.json"))]
    return [
        f"{violation['ruleName']}: {violation['description']}"
        for report in reports
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
    ]


def lint(templates: list[Path]) -> str:
    """What cfn-lint finds in the templates; empty when nothing."""
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--ignore-checks", *WAIVED, "--"]
    done = subprocess.run(
        [*command, *map(str, templates)], capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip()


def _acknowledged(body: Mapping[str, Any]) -> int:
    resources = body["Resources"].values()
    return sum(len(r.get("Metadata", {}).get(ACKNOWLEDGED, {})) for r in resources)


def _resources(template: Path) -> Iterator[str]:
    resources = json.loads(template.read_text())["Resources"].values()
    counts = Counter(resource["Type"] for resource in resources)
    yield f"{template.name.removesuffix('.template.json')}: {counts.total()} resources"
    for kind, count in sorted(counts.items()):
        yield f"  {count:3} {kind}"


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
