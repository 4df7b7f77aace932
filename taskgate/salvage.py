"""Results that are kept for their owner's next identical submit, and how one is recognised.

A salvage is what a soft-cancelled run brought all the same: it is given away once. A task type that
opts in (`TaskType.reuse_results`) keeps each of its results so, for as many submits as ask for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from taskgate.task import Owner, ResultFile

MOST_BYTES: Final = 256 * 1024 * 1024
"""Of all files. They are copied while the caller waits for the answer to the submit."""
MOST_FILES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """A result that is kept: whose it is, what it is the result of, and until when."""

    owner: Owner
    fingerprint: str
    source: str
    """The task that brought it."""
    files: tuple[ResultFile, ...]
    output: str | None
    expires_at: int
    """Epoch seconds. Past it the salvage counts as absent, whether it is still stored or not."""
    once: bool
    """It is given away once."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """What a submit would take instead of a run of its own."""

    fingerprint: str
    likely: bool
    """Look at once: its type keeps results. Else only if the books say that its user has one."""


def fingerprint(kind: str, version: int, text: str) -> str:
    """What two identical submits have in common: type, its version, and the validated input.

    The order of keys does not count; 1 and 1.0 differ.
    """
    parts = [kind, version, json.loads(text)]
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def copyable(files: Sequence[ResultFile]) -> bool:
    """Whether a result is small enough to be copied for a submit."""
    return len(files) <= MOST_FILES and sum(file.size for file in files) <= MOST_BYTES
