"""The command as a person uses it: `taskgate dev` in one terminal, the others beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.waiting import PATIENCE, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("dev")]

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "examples" / "handbook.pdf"
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "taskgate.cli", *arguments]


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("TASKGATE_", "AWS_"))}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the person works."""
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def dev(desk: Path) -> Iterator[subprocess.Popen[str]]:
    with running_dev(desk) as process:
        yield process


@contextmanager
def running_dev(desk: Path) -> Iterator[subprocess.Popen[str]]:
    note = desk / ".taskgate" / "local.json"
    with (desk / "dev.log").open("w") as log:
        process = subprocess.Popen(
            command("dev"), cwd=desk, env=environment(), stdout=log, stderr=log, text=True
        )
    try:
        until(lambda: process.poll() is not None or note.exists())
        assert process.poll() is None, (desk / "dev.log").read_text()
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


@pytest.fixture
def cli(dev: subprocess.Popen[str], desk: Path) -> Cli:
    return lambda *arguments: ran_in(desk, *arguments)


def ran_in(desk: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=desk,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_command_beside_dev_finds_its_gateway_without_any_setting(cli: Cli) -> None:
    types = json.loads(cli("types", "--json").stdout)
    assert {kind["name"] for kind in types["task_types"]} >= {"embed_document", "text_to_image"}


def test_a_document_is_embedded_and_its_files_are_saved(cli: Cli, desk: Path) -> None:
    done = cli("submit", "embed_document", "--file", str(DOCUMENT), "--wait", "--json")
    assert done.returncode == 0, done.stderr
    task = json.loads(done.stdout)
    assert [entry["to"] for entry in task["history"]] == [
        "created",
        "queued",
        "processing",
        "succeeded",
    ]
    saved = json.loads(cli("result", task["id"], "--out", "out", "--json").stdout)["saved"]
    assert {Path(path).name for path in saved} == {"vectors.npy", "chunks.jsonl", "manifest.json"}
    assert all((desk / path).stat().st_size for path in saved)


def test_the_same_key_finds_the_task_again_after_the_waiting_client_was_killed(
    cli: Cli, desk: Path
) -> None:
    sample = [sys.executable, str(ROOT / "examples" / "keep_the_id.py"), "order-7"]
    note = json.loads((desk / ".taskgate/local.json").read_text())
    variables = {"TASKGATE_URL": note["url"], "TASKGATE_API_KEY": note["api_key"]}
    settings: dict[str, Any] = {"env": environment() | variables, "cwd": desk, "text": True}
    with subprocess.Popen(sample, stdout=subprocess.PIPE, **settings) as waiting:
        assert waiting.stdout is not None
        task_id = waiting.stdout.readline().strip()
        waiting.kill()
    again = subprocess.run(sample, capture_output=True, timeout=300, check=True, **settings)
    assert again.stdout.splitlines()[0] == task_id
    assert (desk / "order-7" / "image.png").exists()
    task = json.loads(cli("get", task_id, "--json").stdout)
    assert (task["state"], task["attempt"]) == ("succeeded", 1)


def test_a_running_task_is_canceled_and_the_watcher_says_so_by_its_exit_code(cli: Cli) -> None:
    slow = ("-i", "prompt=x", "-i", "steps=200", "-i", "step_ms=500")
    task_id = json.loads(cli("submit", "text_to_image", *slow, "--json").stdout)["id"]
    assert cli("watch", task_id, "--timeout", "3").returncode == 6
    assert cli("cancel", task_id, "--mode", "hard", "--reason", "enough").returncode == 0
    watched = cli("watch", task_id, "--timeout", "240")
    assert watched.returncode == 1
    assert "enough" in watched.stdout


def test_a_worker_that_is_killed_is_replaced_and_the_task_runs_again_at_attempt_2(
    cli: Cli,
) -> None:
    # So long that who holds it can be asked for in the meantime, also on a busy machine.
    slow = ("-i", "prompt=x", "-i", "steps=24", "-i", "step_ms=500")
    task_id = json.loads(cli("submit", "text_to_image", *slow, "--json").stdout)["id"]

    def holder() -> int:
        entry = json.loads(cli("get", task_id, "--json").stdout)["history"][-1]
        return int(entry["actor"].split("-")[-2]) if entry["verb"] == "claim" else 0

    os.kill(until(holder), signal.SIGKILL)
    watched = cli("watch", task_id, "--timeout", "240")
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "take_over" in watched.stdout
    assert "attempt 2" in watched.stdout


def test_the_demo_uses_the_running_gateway_and_all_that_it_claims_is_true(cli: Cli) -> None:
    demo = cli("demo", str(DOCUMENT))
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Using the gateway of `taskgate dev`" in demo.stderr
    assert "✗" not in demo.stdout


def test_the_books_balance_after_all_that(cli: Cli) -> None:
    books = json.loads(cli("stats", "--json").stdout)
    ended = sum(books[name] for name in ("succeeded", "failed", "timed_out", "canceled"))
    assert books["submitted"] == books["active"] + ended


def test_a_second_dev_in_the_same_folder_is_refused(cli: Cli) -> None:
    second = cli("dev")
    assert second.returncode == 2
    assert "is up already" in second.stderr


def test_ctrl_c_ends_all_of_it(tmp_path: Path) -> None:
    with running_dev(tmp_path) as dev:
        children = _children(dev.pid)
        assert len(children) >= 3
        dev.send_signal(signal.SIGINT)
        assert dev.wait(PATIENCE) == 0
    assert not (tmp_path / ".taskgate/local.json").exists()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
    assert ran_in(tmp_path, "list").returncode == 2


def _children(parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True
    )
    return [int(pid) for pid in listed.stdout.split()]
