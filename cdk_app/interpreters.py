"""Finds a Python of the target's version: only that one can compile the bundle.

A ``.pyc`` of another minor version is useless to the function, which would then compile every
module at each cold start, 3.5 to 5 times slower.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cdk_app.uv import UV


class NoInterpreter(Exception):
    """No Python of the target's version is here, and uv could not install one."""


def find(version: str) -> str:
    """A Python of this minor version; uv installs one when the machine has none."""
    for candidate in _candidates(version):
        if _is_version(candidate, version):
            return candidate
    return _install(version)


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield on_path
    # pyenv's shims on PATH refuse every version that is not activated, so look at the real ones.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))
    found = _uv_python("find", "--no-python-downloads", version)
    if found.returncode == 0:
        yield found.stdout.strip()


def _is_version(candidate: str, version: str) -> bool:
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [candidate, "-c", question], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def _install(version: str) -> str:
    _uv_python("install", version)
    found = _uv_python("find", version)
    if found.returncode != 0:
        raise NoInterpreter(
            f"The functions run on Python {version}, and only a Python {version} can compile them. "
            f"None is on this machine and uv could not fetch one. Install it, for example by "
            f"`{UV} python install {version}`, and try again."
        )
    return found.stdout.strip()


def _uv_python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([UV, "python", *args], capture_output=True, text=True, check=False)
