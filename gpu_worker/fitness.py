"""Whether this worker may claim at all. Each check returns what is wrong, or None."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from taskgate.ports import Lanes

Check = Callable[[], str | None]
_SMI: Final = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def gpu_is_there() -> str | None:
    """The driver answers and shows a device."""
    try:
        seen = subprocess.run(_SMI, capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi: {error}"
    return None if seen.stdout.strip() else "nvidia-smi shows no GPU"


def lanes_fit_lease(lanes: Lanes, names: Sequence[str], lease: int) -> str | None:
    """A lane with another visibility timeout would redeliver running tasks, or hide dead ones."""
    wrong = [f"{n} has {v} s" for n in names if (v := lanes.visibility(n)) != lease]
    return (
        f"visibility timeout is not the lease of {lease} s: {', '.join(wrong)}" if wrong else None
    )


def first_problem(checks: Sequence[Check]) -> str | None:
    """What the first check that fails says."""
    return next((problem for check in checks if (problem := check())), None)
