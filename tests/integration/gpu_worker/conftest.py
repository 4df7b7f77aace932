"""The tests' own runners and world, importable here and in the children of the workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "gpu_worker"))

from worker_world import WorkerWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorkerWorld]:
    """Ports in memory on a real clock, and a worker on request; nothing is left behind."""
    made = WorkerWorld(tmp_path)
    yield made
    made.close()
