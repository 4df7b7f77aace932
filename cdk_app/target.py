"""Where the functions run: the Python and the platform that the bundle is built for."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import Final

from taskgate.settings import Stage


@dataclass(frozen=True, slots=True)
class Target:
    """One Python minor version on one platform, in the words of uv's ``--python-platform``."""

    python: str
    platform: str | None
    """None is the machine that builds."""
    machine: str
    """The processor as wheels name it: ``aarch64`` or ``x86_64``."""

    @property
    def name(self) -> str:
        """A folder name that tells the targets apart; without dots, which read as a file's."""
        return f"py{self.python.replace('.', '')}-{self.platform or 'host'}"


LAMBDA: Final = Target("3.13", "aarch64-manylinux_2_28", "aarch64")
"""AWS: arm64 is about a fifth cheaper than x86_64 for the same work."""


def host() -> Target:
    """This machine and this Python: the emulator runs functions with its own interpreter."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return Target(f"{sys.version_info.major}.{sys.version_info.minor}", None, machine)


def of(stage: Stage) -> Target:
    """The target of a stage."""
    return host() if stage.emulator else LAMBDA
