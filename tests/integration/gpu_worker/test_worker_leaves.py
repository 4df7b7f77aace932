"""SIGTERM, SIGINT and SIGKILL: a worker leaves in time, and what it leaves is in order."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from worker_world import PATIENCE, until

HOST = Path(__file__).parent / "worker_host.py"
CONTAINED = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
Start = Callable[..., "Host"]


class Host:
    """The worker process and what it logged so far."""

    def __init__(
        self, scratch: Path, drain: float, acts: list[dict[str, Any]], wrapper: list[str]
    ) -> None:
        self.log = scratch / "log"
        wanted = json.dumps({"drain": drain, "acts": acts})
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [*wrapper, sys.executable, HOST, scratch, wanted],
                stdout=out,
                env={**os.environ, "PYTHONPATH": str(HOST.parent)},
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [
            json.loads(x) for x in self.log.read_text().splitlines(keepends=True) if x[-1:] == "\n"
        ]
        return [e for e in lines if e["event"] == name]

    def wait_event(self, name: str, seconds: float = PATIENCE) -> dict[str, Any]:
        until(lambda: bool(self.events(name)), seconds, self.log.read_text)
        return self.events(name)[0]

    def leave(self, number: int) -> tuple[int, float]:
        """Send the signal; the exit code and how long it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(PATIENCE), time.monotonic() - began


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    hosts: list[Host] = []

    def started(*acts: dict[str, Any], drain: float = 10, wrapper: Sequence[str] = ()) -> Host:
        hosts.append(Host(tmp_path, drain, list(acts), list(wrapper)))
        return hosts[-1]

    yield started
    for host in hosts:
        if host.process.poll() is None:
            host.process.kill()
            host.process.wait()


def gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def test_an_idle_worker_leaves_at_once_on_sigterm(start: Start, tmp_path: Path) -> None:
    host = start(drain=90)
    child = host.wait_event("child_ready")["pid"]
    code, took = host.leave(signal.SIGTERM)
    assert (code, took < 60) == (0, True), "it does not wait for the time of a drain"
    assert host.events("draining")[0]["why"] == "SIGTERM"
    assert gone(child)
    assert not list(tmp_path.glob("taskgate-worker-*"))


def test_as_process_1_of_a_container_it_gets_sigterm_and_drains(start: Start) -> None:
    if not shutil.which("unshare") or subprocess.run([*CONTAINED, "true"], check=False).returncode:
        pytest.skip("no right to make a process namespace here")
    host = start({"act": "echo", "seconds": 1}, wrapper=CONTAINED)
    host.wait_event("claimed")
    outer = host.process.pid
    inner = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())
    os.kill(inner, signal.SIGTERM)
    assert host.process.wait(PATIENCE) == 0
    assert host.events("draining")[0]["why"] == "SIGTERM"
    assert host.events("final")[0]["state"] == "succeeded"


def test_a_busy_worker_finishes_a_run_that_fits_the_drain(start: Start) -> None:
    host = start({"act": "echo", "seconds": 1.5})
    host.wait_event("claimed")
    code, _ = host.leave(signal.SIGTERM)
    assert (code, host.events("final")[0]["state"]) == (0, "succeeded")


def test_a_run_that_does_not_fit_is_handed_back_with_its_checkpoint(start: Start) -> None:
    host = start({"act": "checkpointed"}, drain=5)
    host.wait_event("claimed")
    time.sleep(0.5)
    code, took = host.leave(signal.SIGTERM)
    final = host.events("final")[0]
    assert (code, took < 50) == (0, True), "the run would last a minute"
    assert (final["state"], final["checkpoint"]) == ("queued", "step 3")
    assert (final["interruptions"], final["waiting"]) == (1, 1)


def test_nothing_more_is_claimed_once_the_drain_began(start: Start) -> None:
    host = start({"act": "echo", "seconds": 1}, {"act": "echo"}, {"act": "echo"})
    host.wait_event("claimed")
    code, _ = host.leave(signal.SIGTERM)
    assert code == 0
    states = [e["state"] for e in host.events("final")]
    assert states == ["succeeded", "queued", "queued"]
    assert host.events("final")[0]["waiting"] == 2


def test_a_second_sigint_does_not_wait_for_the_run(start: Start) -> None:
    host = start({"act": "ignore_cancel"}, drain=90)
    host.wait_event("claimed")
    host.process.send_signal(signal.SIGINT)
    host.wait_event("draining")
    code, took = host.leave(signal.SIGINT)
    assert (code, took < 60) == (0, True)
    assert host.events("final")[0]["state"] == "queued"


def test_a_sigterm_while_a_model_loads_is_obeyed(start: Start) -> None:
    host = start({"act": "echo", "kind": "endless"}, drain=0)
    host.wait_event("claimed")
    code, took = host.leave(signal.SIGTERM)
    assert (code, took < 60) == (0, True)


def test_the_child_dies_with_a_supervisor_that_is_killed(start: Start, tmp_path: Path) -> None:
    host = start({"act": "hold_gil", "seconds": 300})
    child = host.wait_event("child_ready")["pid"]
    host.wait_event("claimed")
    time.sleep(0.3)
    host.leave(signal.SIGKILL)
    until(lambda: gone(child))
    assert list(tmp_path.glob("taskgate-worker-*"))
    other = start()
    other.wait_event("started")
    other.leave(signal.SIGTERM)
    assert not list(tmp_path.glob("taskgate-worker-*")), "the next worker clears what was left"
