"""The files of a result: into the bucket, under the number of the attempt that made them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from taskgate.ports import Ports
from taskgate.task import ResultFile, Task


@dataclass(frozen=True, slots=True)
class Produced:
    """A file that the run made."""

    name: str
    path: str
    content_type: str


def store(ports: Ports, task: Task, file: Produced) -> ResultFile:
    """Upload one file; what the task keeps of it."""
    key = f"r/{task.owner.tenant}/{task.id}/{task.attempt}/{file.name}"
    path = Path(file.path)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    ports.results.put(key, file.path, file.content_type)
    return ResultFile(file.name, key, path.stat().st_size, digest, file.content_type)
