"""How tests wait for a thread of the worker: closely, and so long that a busy machine breaks no promise."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until it holds, or fail."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)
