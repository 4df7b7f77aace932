"""Calls the CDK app as a command: this room runs the stacks, it does not know them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from taskgate.local.process import plain_variables

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
            env=plain_variables() | dict(variables),
            check=False,
        )
    if done.returncode != 0:
        raise CdkError(f"cdk {' '.join(arguments)} failed:\n{log.read_text()[-4000:]}")


def fingerprint(stage_name: str) -> str:
    """The hash of all that the stage's assembly is made from."""
    command = [sys.executable, "-m", "cdk_app.fingerprint", stage_name]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
