"""`make demo` on a machine where nothing runs yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("demo")]

DOCUMENT = Path(__file__).parents[2] / "examples" / "handbook.pdf"


def test_the_demo_brings_a_gateway_up_proves_its_claims_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TASKGATE_", "AWS_"))}
    done = subprocess.run(
        [sys.executable, "-m", "taskgate.cli", "demo", str(DOCUMENT)],
        cwd=tmp_path,
        env={**clean, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All of it was true" in done.stdout
    assert "✗" not in done.stdout
    assert done.stdout.count("after its end, and its signature holds") == 2
    assert "X-Amz-Signature" not in done.stdout + done.stderr
    assert list(scratch.iterdir()) == []
