"""What is kept of a run for its owner's next identical submit, and when it goes."""

from __future__ import annotations

from typing import Final

from taskgate.catalog import Catalog
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import Ports
from taskgate.salvage import Salvage, copyable, fingerprint
from taskgate.task import CancelMode, Task

MARGIN_MS: Final = 600_000
"""A submit that was given the result in its last moment still copies it."""


def of_success(
    catalog: Catalog, task: Task, text: str | None, outcome: Outcome, now: int
) -> Salvage | None:
    """What a success leaves for others like it: only where its type opts in."""
    kind = catalog.find(task.type)
    if kind is None or kind.reuse_results is None or text is None or not copyable(outcome.files):
        return None
    seconds = kind.reuse_results
    return _salvage(task, fingerprint(kind.name, kind.version, text), outcome, now, seconds)


def of_soft_cancel(
    catalog: Catalog, task: Task, text: str | None, outcome: Outcome, now: int, seconds: int
) -> Salvage | None:
    """What a soft-cancelled run leaves: to be given once, or as its type's other results are."""
    kept = of_success(catalog, task, text, outcome, now)
    kind = catalog.find(task.type)
    if kept or kind is None or text is None or not copyable(outcome.files):
        return kept
    mark = fingerprint(kind.name, kind.version, text)
    return _salvage(task, mark, outcome, now, seconds, once=True)


def soft(task: Task | None, attempt: int) -> bool:
    """Whether this attempt's run was let go on by a soft cancel, and may end."""
    if task is None or task.state is not State.CANCELING or task.attempt != attempt:
        return False
    return task.cancel is not None and task.cancel.mode is CancelMode.SOFT


def remove(ports: Ports, task: Task) -> int:
    """Remove the files that a soft-cancelled run left; returns how many."""
    return ports.results.remove(f"r/{task.owner.tenant}/{task.id}/{task.attempt}/")


def _salvage(
    task: Task, mark: str, outcome: Outcome, now: int, seconds: int, *, once: bool = False
) -> Salvage:
    return Salvage(
        owner=task.owner,
        fingerprint=mark,
        source=task.id,
        files=outcome.files,
        output=outcome.output,
        expires_at=now // 1000 + seconds,
        once=once,
    )
