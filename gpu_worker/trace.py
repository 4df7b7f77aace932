"""The run's trace in the environment, where programs that the runner starts look for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gpu_worker.protocol import Run


@contextlib.contextmanager
def in_trace(order: Run) -> Iterator[None]:
    """`TRACEPARENT` and `TRACESTATE` are the run's while it lasts: a child runs one at a time."""
    given = {name.upper(): text for name, text in order.trace.items()}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)
