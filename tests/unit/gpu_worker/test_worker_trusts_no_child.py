"""A child may be taken over by what its run was given: what it says and may read is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.child_process import _environment
from gpu_worker.produced import produced
from gpu_worker.protocol import BrokenFrame, decode
from gpu_worker.settings import WorkerSettings
from taskgate.gateway.work.worker import Failure, Produced
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIA",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "token",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/guid",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/token",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
    "AWS_ROLE_ARN": "arn:aws:iam::1:role/x",
    "AWS_PROFILE": "prod",
    "AWS_SHARED_CREDENTIALS_FILE": "/x",
    "ECS_AGENT_URI": "http://169.254.170.2/api/guid",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("fine")
    return tmp_path


def test_a_plain_file_of_the_attempt_is_taken(folder: Path) -> None:
    told = [["a.txt", str(folder / "a.txt"), "text/plain; charset=utf-8"]]
    assert produced(told, folder) == (Produced(*told[0]),)


WRONG: dict[str, tuple[Any, Any, Any]] = {
    "a name that climbs": ("../a.txt", "{}/../a.txt", "text/plain"),
    "a name in another's folder": ("x/a.txt", "{}/x/a.txt", "text/plain"),
    "no name": (None, "{}/a.txt", "text/plain"),
    "a file elsewhere": ("a.txt", "/proc/self/environ", "text/plain"),
    "a way round": ("a.txt", "{}/../{}/a.txt", "text/plain"),
    "a header in the type": ("a.txt", "{}/a.txt", "text/plain\r\nx-amz-acl: public-read"),
    "a type without end": ("a.txt", "{}/a.txt", "x" * 101),
    "a link": ("link", "{}/link", "text/plain"),
    "a folder": ("sub", "{}/sub", "text/plain"),
    "a pipe": ("pipe", "{}/pipe", "text/plain"),
    "what is not there": ("b.txt", "{}/b.txt", "text/plain"),
}


@pytest.mark.parametrize("told", WRONG.values(), ids=WRONG)
def test_nothing_else_is_read_and_the_task_ends_with_the_reason(
    folder: Path, told: tuple[Any, Any, Any]
) -> None:
    (folder / "link").symlink_to("/proc/self/environ")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    name, path, kind = told
    refused = produced([(name, path.replace("{}", str(folder)), kind)], folder)
    assert isinstance(refused, Failure)
    assert (refused.code, refused.error_class) == (ErrorCode.MODEL_ERROR, ErrorClass.PERMANENT)


def test_no_more_files_are_taken_than_a_run_may_declare(folder: Path) -> None:
    told = [["a.txt", str(folder / "a.txt"), "text/plain"]]
    assert isinstance(produced(told * 21, folder), Failure)


def test_a_frame_that_nests_without_end_is_no_message() -> None:
    with pytest.raises(BrokenFrame):
        decode(b"[" * 200_000)


def test_a_child_has_the_workers_environment_without_its_credentials(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {**CREDENTIALS, "MODEL_API_KEY": "k", "AWS_REGION": "eu-west-1"}.items():
        monkeypatch.setenv(name, text)
    given = _environment(folder, lend=False)
    assert not CREDENTIALS.keys() & given.keys()
    assert (given["MODEL_API_KEY"], given["AWS_REGION"]) == ("k", "eu-west-1")
    assert given["AWS_EC2_METADATA_DISABLED"] == "true"


def test_a_worker_lends_its_credentials_only_when_it_is_told_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in CREDENTIALS.items():
        monkeypatch.setenv(name, text)
    assert _environment(folder, lend=True).items() >= CREDENTIALS.items()
    assert not WorkerSettings.read({"TASKGATE_POOL": "gpu"}).lend_credentials
    told = WorkerSettings.read({"TASKGATE_POOL": "gpu", "TASKGATE_LEND_CREDENTIALS": "1"})
    assert told.lend_credentials


@pytest.mark.skipif(sys.platform != "linux", reason="Linux keeps a process's memory by this flag")
def test_no_process_of_the_same_user_reads_a_workers_memory() -> None:
    code = (
        "import ctypes; from gpu_worker.__main__ import keep_memory_private as keep; keep();"
        " print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "0"
