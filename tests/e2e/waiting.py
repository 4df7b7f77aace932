"""How tests wait: for what must come, and so long that a busy machine is never taken for a broken promise."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 240.0
"""Seconds. It costs nothing where all is well: whoever waits goes on as soon as it is true."""


def until(true: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The first true answer."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if found := true():
            return found
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s")
