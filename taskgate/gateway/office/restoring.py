"""After a restore of the tasks table: what pulses and bucket know that the records do not.

The records are of an earlier moment than everything beside them. An attempt that the record does not
know of must never be given out a second time, since its number is the fence and a part of the key of
what it stored. And what was accepted after that moment is on record no more: it is named, so that its
owners can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from taskgate.books import Footprint, Footprints
from taskgate.errors import Refused
from taskgate.events import event
from taskgate.gateway.stamps import first_task_id, stamp
from taskgate.lifecycle import change
from taskgate.ports import Ports
from taskgate.task import Task

BATCH: Final = 100
ACTOR: Final = "after_restore"


class Kind(StrEnum):
    """How a record and what lies beside it disagree."""

    BEHIND = "behind"
    """An unfinished task of which later attempts ran than its record knows."""
    OUTLIVED = "outlived"
    """An ended task of which a later attempt ran: it had been reopened."""
    LOST = "lost"
    """Accepted after the moment of the restore: not on record."""


class Outcome(StrEnum):
    """What became of it."""

    SHOWN = "left: dry run"
    RAISED = "its next attempt is beyond"
    FORGOTTEN = "its pulse is forgotten"
    MOVED = "left: it moved meanwhile"


@dataclass(frozen=True, slots=True)
class Finding:
    """One task, the latest attempt of it that ran, and what its record knows."""

    kind: Kind
    footprint: Footprint
    known: int
    outcome: Outcome = Outcome.SHOWN


def catch_up(
    ports: Ports, footprints: Footprints, restored_to: int, *, apply: bool
) -> Iterator[Finding]:
    """Every task of which more is known than its record says; with `apply`, fences are raised.

    `restored_to` is the moment of the restore (epoch ms). Twice is once.
    """
    latest: dict[str, Footprint] = {}
    since = first_task_id(restored_to)
    for footprint in (*footprints.pulses(), *footprints.results(since)):
        latest[footprint.task_id] = _later(latest.get(footprint.task_id), footprint)
    for batch in _batches(sorted(latest)):
        on_record = ports.tasks.get_many(batch)
        for task_id in batch:
            finding = _compared(latest[task_id], on_record.get(task_id))
            if finding is not None:
                yield _settled(ports, footprints, finding, on_record.get(task_id), apply=apply)


def _later(known: Footprint | None, footprint: Footprint) -> Footprint:
    if known is None:
        return footprint
    attempt = max(known.attempt, footprint.attempt)
    return replace(known, attempt=attempt, tenant=known.tenant or footprint.tenant)


def _compared(footprint: Footprint, task: Task | None) -> Finding | None:
    if task is None:
        return Finding(Kind.LOST, footprint, 0)
    if footprint.attempt <= task.attempt:
        return None
    kind = Kind.OUTLIVED if task.state.ended else Kind.BEHIND
    return Finding(kind, replace(footprint, tenant=task.owner.tenant), task.attempt)


def _settled(
    ports: Ports, footprints: Footprints, finding: Finding, task: Task | None, *, apply: bool
) -> Finding:
    outcome = _done(ports, footprints, finding, task) if apply else Outcome.SHOWN
    event(
        "after_restore",
        kind=finding.kind,
        task=finding.footprint.task_id,
        attempt=finding.footprint.attempt,
        known=finding.known,
        outcome=outcome,
    )
    return replace(finding, outcome=outcome)


def _done(ports: Ports, footprints: Footprints, finding: Finding, task: Task | None) -> Outcome:
    if task is None or task.state.ended:
        # Should the id live again (a follow-up, a reopening), its holder must be heard.
        footprints.forget(finding.footprint)
        return Outcome.FORGOTTEN
    made = stamp(ports.now(), ACTOR)
    try:
        ports.tasks.apply(change.raised(task, made, finding.footprint.attempt))
    except Refused:
        return Outcome.MOVED
    return Outcome.RAISED


def _batches(ids: Iterable[str]) -> Iterator[Sequence[str]]:
    rest = iter(ids)
    while batch := list(islice(rest, BATCH)):
        yield batch
