"""The container's health check: what it says, and that it costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_worker.health import STILL, VARIABLE, Health, problem

ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ready"


def said(file: Path, later: float = 0) -> str | None:
    return problem({VARIABLE: str(file)}, time.time() + later)


def test_a_worker_that_still_loads_its_models_is_not_healthy(file: Path) -> None:
    health = Health(file)
    health.start()
    health.moves()  # the loop turns while it loads
    assert said(file) == "not ready: the models are not loaded yet"


def test_a_ready_worker_is_healthy_and_one_that_stands_still_is_not(file: Path) -> None:
    Health(file).ready()
    assert said(file) is None
    assert said(file, STILL - 1) is None
    assert "stands still" in str(said(file, STILL + 1))


def test_a_worker_that_moves_on_stays_healthy_while_it_loads_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = Health(file)
    health.ready()
    os.utime(file, (0, 0))
    later = time.monotonic() + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    health.moves()
    assert said(file) is None


def test_a_turn_of_the_loop_writes_at_most_every_few_seconds(file: Path) -> None:
    health = Health(file)
    health.ready()
    os.utime(file, (0, 0))
    for _ in range(1000):
        health.moves()
    assert file.stat().st_mtime == 0


def test_what_an_earlier_process_left_makes_nobody_ready(file: Path) -> None:
    file.touch()
    Health(file).start()
    assert "not ready" in str(said(file))


def test_without_a_file_the_check_says_what_is_missing() -> None:
    Health().ready()
    assert VARIABLE in str(problem({}, 0))


@pytest.mark.parametrize(("ready", "code"), [(True, 0), (False, 1)])
def test_the_check_is_a_program_that_loads_nothing_of_ours(
    file: Path, ready: bool, code: int
) -> None:
    if ready:
        Health(file).ready()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gpu_worker.health"],
        env={**os.environ, VARIABLE: str(file)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "gpu_worker" in loaded
    assert not [name for name in loaded if name.startswith(("taskgate.", "boto", "pydantic"))]
