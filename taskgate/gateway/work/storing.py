"""The files of a result: into the bucket, under the number of the attempt that made them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from taskgate.errors import Unavailable
from taskgate.events import event
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
    path = Path(file.path)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    key = _put(ports, f"r/{task.owner.tenant}/{task.id}/{task.attempt}", file, digest)
    return ResultFile(file.name, key, path.stat().st_size, digest, file.content_type)


def _put(ports: Ports, folder: str, file: Produced, digest: bytes) -> str:
    """Where the very bytes of the file lie now.

    Other bytes under the number of this attempt are of a time that a restored table knows nothing
    of. They are never served as ours: ours lie beside them, under what they are.
    """
    key, beside = f"{folder}/{file.name}", f"{folder}/{digest.hex()}/{file.name}"
    if ports.results.put(key, file.path, file.content_type):
        return key
    event("result_key_taken", key=key)
    if not ports.results.put(beside, file.path, file.content_type):
        raise Unavailable(f"{beside} holds other bytes than its name says.")
    return beside
