"""Says what a synthesised assembly holds, and lints it: ``python -m cdk_app.report <folder>``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

WAIVED: Final = (
    "W3005",  # CDK names a function's role both as its role and in DependsOn; harmless
)


def main(folder: Path) -> int:
    """Print each stack's resources by type and cfn-lint's findings; 0 when there are none."""
    templates = sorted(folder.rglob("*.template.json"))
    findings = lint(templates)
    lines = [line for template in templates for line in _resources(template)]
    lines.append(f"cfn-lint: {findings or 'no findings'}")
    print("\n".join(lines))  # noqa: T201 - the answer itself
    return 1 if findings else 0


def lint(templates: list[Path]) -> str:
    """What cfn-lint finds in the templates; empty when nothing."""
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--ignore-checks", *WAIVED, "--"]
    done = subprocess.run(
        [*command, *map(str, templates)], capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip()


def _resources(template: Path) -> Iterator[str]:
    resources = json.loads(template.read_text())["Resources"].values()
    counts = Counter(resource["Type"] for resource in resources)
    yield f"{template.name.removesuffix('.template.json')}: {counts.total()} resources"
    for kind, count in sorted(counts.items()):
        yield f"  {count:3} {kind}"


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
