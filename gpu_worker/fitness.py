"""Whether this worker may claim at all. Each check returns what is wrong, or None."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from taskgate.events import swallowed
from taskgate.ports import Lanes

Check = Callable[[], str | None]
_SMI: Final = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
_SMI_MEMORY: Final = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
TOLERANCE: Final = 256
"""MiB. The driver keeps a little for itself, now more and now less."""
FREED_WITHIN: Final = 20.0
"""Seconds. The driver gives a killed process's memory back when it has torn its context down."""
_LOOK_AGAIN: Final = 0.2


_SHOWN: Final = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first device of the host."""

    model: str
    memory_mib: int | None


def gpu_of_host() -> Gpu | None:
    """What the driver says of it; None without one. For people only: whether it works, `Check`s say."""
    if shutil.which(_SHOWN[0]) is None:
        return None
    try:
        seen = subprocess.run(_SHOWN, capture_output=True, timeout=20, check=True, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        swallowed("gpu_unknown", error)
        return None
    model, _, memory = seen.stdout.strip().partition("\n")[0].rpartition(",")
    if not model:
        return None
    return Gpu(model.strip()[:64], int(memory) if memory.strip().isdecimal() else None)


def gpu_is_there() -> str | None:
    """The driver answers and shows a device."""
    try:
        seen = subprocess.run(_SMI, capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi: {error}"
    return None if seen.stdout.strip() else "nvidia-smi shows no GPU"


class GpuMemory:
    """With no child alive, the GPU's memory is as free as it was before the first one.

    A killed run whose memory stays held would make the next task fail as out of memory.
    """

    def __init__(self, within: float = FREED_WITHIN) -> None:
        self._within = within
        self._before: int | None = None

    def __call__(self) -> str | None:
        """The first call, before any child, is what the later ones are compared with."""
        if self._before is None:
            self._before = _used_memory()
            return None if self._before is not None else "nvidia-smi tells no memory"
        until = time.monotonic() + self._within
        while (used := _used_memory()) is None or used > self._before + TOLERANCE:
            if time.monotonic() >= until:
                return f"{used} MiB of the GPU are held with no run, and {self._before} before"
            time.sleep(_LOOK_AGAIN)
        return None


def family_is_gone(group: int, within: float = FREED_WITHIN) -> str | None:
    """No process of a killed child's group lives: one that hangs in a driver still holds its GPU."""
    until = time.monotonic() + within
    while _lives(group):
        if time.monotonic() >= until:
            return f"processes of the killed child {group} do not end"
        time.sleep(_LOOK_AGAIN)
    return None


def _lives(group: int) -> bool:
    """Whether any process of the group computes: a zombie does not, whoever forgot to reap it."""
    stats = (_stat(path) for path in Path("/proc").glob("[0-9]*/stat"))
    return any(state not in "ZX" and found == group for state, found in filter(None, stats))


def _stat(path: Path) -> tuple[str, int] | None:
    """State and process group; None for a process that is gone meanwhile."""
    try:
        state, _, group, *_ = path.read_text("utf-8", "replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return state, int(group)


def _used_memory() -> int | None:
    try:
        seen = subprocess.run(_SMI_MEMORY, capture_output=True, timeout=20, check=True)
        return sum(int(line) for line in seen.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def lanes_fit_lease(lanes: Lanes, names: Sequence[str], lease: int) -> str | None:
    """A lane with another visibility timeout would redeliver running tasks, or hide dead ones."""
    wrong = [f"{n} has {v} s" for n in names if (v := lanes.visibility(n)) != lease]
    return (
        f"visibility timeout is not the lease of {lease} s: {', '.join(wrong)}" if wrong else None
    )


def first_problem(checks: Sequence[Check]) -> str | None:
    """What the first check that fails says."""
    return next((problem for check in checks if (problem := check())), None)
