"""How the demo shows a task's life and where its files lie."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from taskgate.cli.live import display
from taskgate.cli.printing import out, say
from taskgate.cli.proof import Proof, rising, unbroken
from taskgate.cli.story import told
from taskgate.cli.watching import looks
from taskgate.client import Result, Task, TaskHandle

RESULTS: Final = Path(".taskgate") / "demo"
PATIENCE: Final = 120.0


def watched(handle: TaskHandle, proof: Proof) -> Task:
    """Watch a task to its end and print its life."""
    seen: list[Task] = []
    with display(as_json=False) as shown:
        for task in looks(handle, PATIENCE):
            seen.append(task)
            shown.show(task)
    task = handle.get()
    out().print(told(task))
    proof.claim("the task succeeded", task.succeeded)
    proof.claim("its history has no gap, and its progress never fell", _true_life(task, seen))
    return task


def _true_life(task: Task, seen: list[Task]) -> bool:
    return bool(task.history) and unbroken(task.history) and rising(seen)


def where(result: Result, folder: Path) -> None:
    for file in result.files:
        say((f"  {s3_uri(file.url)}", "dim"))
    say(f"  saved in {folder}")


def s3_uri(signed_url: str) -> str:
    """Where a signed URL in path style leads, as ``s3://bucket/key``."""
    return f"s3:/{urlsplit(signed_url).path}"


def title(text: str) -> None:
    say((f"\n{text}", "bold"))
