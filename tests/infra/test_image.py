"""The worker's image, as far as its recipe tells: linted, built from the root, and as ECS expects it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdk_app.bundle import ROOT
from gpu_worker.health import VARIABLE
from gpu_worker.settings import WorkerSettings

RECIPE = ROOT / "gpu_worker" / "Dockerfile"
TEXT = RECIPE.read_text()
STAGES = re.split(r"^FROM ", TEXT, flags=re.MULTILINE)[1:]
TASK = (ROOT / "cdk_app" / "worker_task.py").read_text()


def test_the_linter_finds_nothing_in_the_recipe():
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, RECIPE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_linter_would_find_something(tmp_path):
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM debian\nRUN cd /tmp && sudo apt-get install curl\n")
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, bad], capture_output=True, text=True, check=False)
    assert done.returncode == 1


def test_all_that_is_copied_is_there_and_is_let_into_the_build():
    sources = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", TEXT, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    let_in = (ROOT / "gpu_worker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert let_in[1] == "*"
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in let_in


def test_the_tools_of_the_build_are_not_in_the_image_that_runs():
    build, run = STAGES
    assert "uv sync" in build
    assert "uv" not in run
    assert "pip" not in run


def test_the_worker_is_no_root_and_the_user_that_ecs_starts():
    users = re.findall(r"^USER (\S+)$", STAGES[-1], re.MULTILINE)
    assert users == ["10001"]
    assert 'USER: Final = "10001"' in TASK


def test_the_scratch_folder_is_the_workers_own_also_when_ecs_mounts_a_volume_there():
    run = STAGES[-1]
    assert re.search(r"install --directory --owner=10001 .*/scratch", run)
    assert 'VOLUME ["/scratch"]' in run
    assert 'SCRATCH: Final = "/scratch"' in TASK


def test_the_image_and_ecs_ask_the_same_health_check_as_patiently():
    check = re.search(r"HEALTHCHECK (.+)\\\n\s+CMD (.+)$", STAGES[-1], re.MULTILINE)
    assert check
    assert "--start-period=300s" in check[1]
    assert check[2] == '["python", "-m", "gpu_worker.health"]'
    assert f"{VARIABLE}=/scratch/ready" in STAGES[-1]


def test_the_image_stops_as_ecs_stops_it():
    assert re.search(r"^STOPSIGNAL SIGTERM$", TEXT, re.MULTILINE)
    assert 'ENTRYPOINT ["python", "-m", "gpu_worker"]' in TEXT


def test_both_bases_can_be_given_by_digest_and_no_tag_floats_to_another_python():
    bases = dict(re.findall(r"^ARG (BASE|RUNTIME)=(\S+)$", TEXT, re.MULTILINE))
    assert set(bases) == {"BASE", "RUNTIME"}
    assert all(re.fullmatch(r"python:3\.11-slim-bookworm", base) for base in bases.values())


@pytest.mark.parametrize("variable", re.findall(r"(TASKGATE_[A-Z_]+)=", TEXT))
def test_what_the_image_sets_is_what_a_worker_reads(variable):
    assert variable[len("TASKGATE_") :].split("_")[0].lower() in WorkerSettings.__dataclass_fields__
