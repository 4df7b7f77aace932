"""Calls the CDK app as a command: this room runs the stacks, it does not know them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
"""The checkout: the stacks are deployed from source, so the local stack needs one."""


class CdkError(Exception):
    """The CDK command failed."""


def cdk(arguments: Sequence[str], *, log: Path, variables: Mapping[str, str]) -> None:
    """Run the pinned CDK CLI; its output goes to the log, and into the error if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "cdk_app.cli", *arguments, "--ci"],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=_without_aws() | dict(variables),
            check=False,
        )
    if done.returncode != 0:
        raise CdkError(f"cdk {' '.join(arguments)} failed:\n{log.read_text()[-4000:]}")


def _without_aws() -> dict[str, str]:
    """This environment less its AWS settings, which must not decide where a stack goes.

    The rest stays: npm and uv need the machine's proxies, certificates and mirrors.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}


def fingerprint(stage_name: str, *extras: str) -> str:
    """The hash of all that the stage's assembly is made from, its functions with these extras."""
    command = [sys.executable, "-m", "cdk_app.fingerprint", stage_name, *extras]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
