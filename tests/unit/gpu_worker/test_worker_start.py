"""What a worker reads, checks and prepares before it claims anything."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_worker import fitness, logs
from gpu_worker.__main__ import worker_id
from gpu_worker.order import order_for
from gpu_worker.protocol import Run
from gpu_worker.settings import WorkerSettings
from taskgate.catalog import CATALOG
from taskgate.errors import BadSetting
from taskgate.gateway.door.fetching import Files
from taskgate.gateway.work.worker import Failure, Held
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Delivery, Message
from taskgate.task import Limits, Owner, Task
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.lanes import MemoryLanes


def held(task_type: str, given: object) -> Held:
    limits = Limits(
        queue_timeout=1, run_timeout=1, max_run=1, deadline=1, redeliver_after=1,
        max_redeliveries=1, lease=1, send_check=1, stall_grace=1, cancel_grace=1,
    )  # fmt: skip
    task = Task(
        id="task_1", owner=Owner("t", "u"), type=task_type, lane="gpu-high", limits=limits,
        state=State.PROCESSING, created_at=0, since=0, deadline_at=1, attempt=3, checkpoint="c",
    )  # fmt: skip
    return Held(task, json.dumps(given), Delivery(Message("task_1", 2), "gpu-high", "r"))


NO_FILES = Files(MemoryWorld().ports, Owner("t", "u"))


def test_the_settings_have_defaults_and_one_variable_each() -> None:
    assert WorkerSettings.read({"TASKGATE_POOL": "gpu"}) == WorkerSettings(pool="gpu")
    given = {
        "TASKGATE_POOL": "gpu", "TASKGATE_DRAIN": "30", "TASKGATE_WATCH": "5",
        "TASKGATE_PRELOAD": "0", "TASKGATE_REQUIRE_GPU": "1", "TASKGATE_SCRATCH": "/",
        "TASKGATE_SPOT": "1", "TASKGATE_HEALTH_FILE": "/ready",
        "ECS_AGENT_URI": "http://169.254.170.2/api/x",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1",
    }  # fmt: skip
    assert WorkerSettings.read(given) == WorkerSettings(
        pool="gpu", drain=30, watch=5, preload=False, require_gpu=True, scratch=Path("/"),
        spot=True, health=Path("/ready"), metadata="http://127.0.0.1:1", agent="http://169.254.170.2/api/x",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TASKGATE_POOL", ""),
        ("TASKGATE_DRAIN", "111"),
        ("TASKGATE_DRAIN", "-1"),
        ("TASKGATE_WATCH", "0"),
        ("TASKGATE_WATCH", "soon"),
        ("TASKGATE_PRELOAD", "yes"),
        ("TASKGATE_REQUIRE_GPU", "true"),
        ("TASKGATE_SCRATCH", "/no/such/folder"),
        ("TASKGATE_SPOT", "2"),
        ("TASKGATE_HEALTH_FILE", "/no/such/folder/ready"),
    ],
)
def test_a_wrong_setting_is_named_with_its_bound(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"^{name} is '{value}'; it must be "):
        WorkerSettings.read({"TASKGATE_POOL": "gpu", name: value})


def test_a_worker_without_its_variables_says_so_and_exits_with_2() -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TASKGATE_")}
    done = subprocess.run(
        [sys.executable, "-m", "gpu_worker"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "TASKGATE_STAGE is ''; it must be a non-empty text.\n"


def test_a_worker_id_is_short_and_differs_between_starts() -> None:
    ids = {worker_id() for _ in range(50)}
    assert len(ids) > 40
    assert all(len(i) <= 20 and i.isascii() for i in ids)


def test_the_order_holds_the_parsed_input_with_its_defaults(tmp_path: Path) -> None:
    order = order_for(held("text_to_image", {"prompt": "x"}), CATALOG, 7, tmp_path, NO_FILES)
    assert not isinstance(order, Failure)
    run, task_type = order
    assert task_type.name == "text_to_image"
    assert (run.number, run.attempt, run.checkpoint) == (7, 3, "c")
    assert (run.input["prompt"], run.input["steps"]) == ("x", 20)
    assert isinstance(run, Run)


def test_an_input_that_does_not_fit_is_permanent_and_names_its_field(tmp_path: Path) -> None:
    failure = order_for(
        held("text_to_image", {"prompt": "x", "seed": "1"}), CATALOG, 1, tmp_path, NO_FILES
    )
    assert isinstance(failure, Failure)
    assert (failure.code, failure.error_class) == (
        ErrorCode.INVALID_INPUT,
        ErrorClass.PERMANENT,
    )
    assert failure.message.startswith("seed: ")


def test_a_lost_input_is_permanent_with_a_code_of_its_own(tmp_path: Path) -> None:
    lost = replace(held("text_to_image", {}), input=None)
    failure = order_for(lost, CATALOG, 1, tmp_path, NO_FILES)
    assert isinstance(failure, Failure)
    assert (failure.code, failure.error_class) == (ErrorCode.INPUT_LOST, ErrorClass.PERMANENT)


def test_a_type_that_this_worker_does_not_know_is_left_to_a_newer_one(tmp_path: Path) -> None:
    failure = order_for(held("text_to_video", {}), CATALOG, 1, tmp_path, NO_FILES)
    assert isinstance(failure, Failure)
    assert failure.error_class is ErrorClass.TRANSIENT


def test_a_host_without_the_driver_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "nvidia-smi" in (fitness.gpu_is_there() or "")


@pytest.mark.parametrize(
    ("script", "problem"),
    [("echo 'NVIDIA L4'", None), ("true", "nvidia-smi shows no GPU"), ("exit 9", "nvidia-smi")],
)
def test_a_gpu_host_is_fit_when_the_driver_shows_a_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, problem: str | None
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n{script}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = fitness.gpu_is_there()
    assert found is None if problem is None else problem in (found or "")


def _smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver that tells as used memory what stands in the file."""
    smi, used = tmp_path / "nvidia-smi", tmp_path / "used"
    smi.write_text(f"#!/bin/sh\ncat {used}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return used


def test_a_gpu_whose_memory_is_held_after_a_kill_is_not_clean(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    used, memory = _smi(tmp_path, monkeypatch), fitness.GpuMemory(within=0.3)
    used.write_text("400\n")
    assert memory() is None, "this is what it is before any run"
    used.write_text("600\n")
    assert memory() is None, "within what the driver may keep"
    used.write_text("9000\n")
    assert memory() == "9000 MiB of the GPU are held with no run, and 400 before"
    used.write_text("[N/A]\n")
    assert "held" in (memory() or "")


def test_a_driver_that_tells_no_memory_is_no_gpu_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _smi(tmp_path, monkeypatch)
    assert fitness.GpuMemory()() == "nvidia-smi tells no memory"


def test_a_process_of_a_killed_family_that_lives_on_is_seen_and_a_zombie_is_none() -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as left:
        assert "do not end" in (fitness.family_is_gone(left.pid, within=0.2) or "")
        left.kill()
        # Not reaped yet: a zombie until the block ends.
        assert fitness.family_is_gone(left.pid, within=5) is None
    assert fitness.family_is_gone(left.pid, within=0) is None


def test_a_lane_whose_visibility_differs_from_the_lease_is_named() -> None:
    class Lanes(MemoryLanes):
        def visibility(self, lane: str) -> int:
            return 10 if lane == "gpu-low" else 45

    lanes = Lanes(VirtualClock(), 45)
    assert fitness.lanes_fit_lease(lanes, ["gpu-high"], 45) is None
    problem = fitness.lanes_fit_lease(lanes, ["gpu-high", "gpu-low"], 45)
    assert problem == "visibility timeout is not the lease of 45 s: gpu-low has 10 s"


def test_every_variable_of_the_worker_is_documented() -> None:
    root = Path(__file__).parents[3]
    read = {
        name
        for source in (root / "gpu_worker").rglob("*.py")
        for name in re.findall(r"TASKGATE_[A-Z_]+[A-Z]", source.read_text())
    }
    page = (root / "docs" / "explanation" / "worker.md").read_text()
    assert {name for name in read if name not in page} <= {"TASKGATE_LANES"}


def test_every_log_line_is_one_json_object() -> None:
    made = logs._Lines("w-1")
    ours = logging.LogRecord("taskgate", 20, "", 0, '{"event": "claimed", "task": "t"}', (), None)
    theirs = logging.LogRecord("botocore", 30, "", 0, "a\nb", (), None)
    lines = [json.loads(made.format(record)) for record in (ours, theirs)]
    assert (lines[0]["event"], lines[0]["task"], lines[0]["worker"]) == ("claimed", "t", "w-1")
    assert (lines[1]["event"], lines[1]["logger"], lines[1]["level"]) == (
        "log",
        "botocore",
        "WARNING",
    )
