"""`taskgate dev` says what is wrong with its options before it starts anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_a_collector_that_is_no_address_is_refused_with_the_form_that_it_must_have(
    tmp_path: Path,
) -> None:
    # In a process of its own: the command takes over how signals are answered.
    command = [sys.executable, "-m", "taskgate.cli", "dev", "--otlp", "my collector"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "otlp_endpoint is 'my collector'" in done.stderr
    assert "http(s)://host[:port][/path]" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
