"""The record of the last check, as operators read it, and a run that they ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from taskgate.errors import Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.announcing import rfc3339
from taskgate.gateway.office.key_keeping import acting
from taskgate.gateway.office.reconciling import Difference, Report
from taskgate.principal import Principal
from taskgate.proofs import MOST_FINDINGS, Finding, Proof, Proofs, ProofStore, Prover, Stand
from taskgate.task import Owner


def read(proofs: ProofStore, who: Principal) -> Proofs:
    """What the last run found: 1 call. For operators, since it tells of every tenant."""
    who.require("operator")
    return proofs.read()


def ask(proofs: ProofStore, prover: Prover, who: Principal, now: int) -> Proofs:
    """Have a run begin soon: 3 calls; while one goes on or waits, no other is asked for: 1 call.

    It looks and tells, and repairs nothing.
    """
    known = read(proofs, who)
    if known.stand(now) is not Stand.IDLE:
        return known
    prover.start()
    by = acting(who, now).who
    proofs.asked(now, by)
    event("reconcile_asked", by=by)
    return replace(known, asked_at=now, asked_by=by)


def begin(proofs: ProofStore, now: int) -> None:
    """Note that a run begins. Without the note it is made all the same."""
    try:
        proofs.begun(now)
    except Unavailable as error:
        swallowed("proof_not_begun", error)


def keep(proofs: ProofStore, report: Report, began_at: int, now: int) -> None:
    """Keep what a run found; what it told the log and the metrics stands without it, too."""
    try:
        proofs.keep(_proof(report, began_at, now))
    except Unavailable as error:
        swallowed("proof_not_kept", error)


def told(proofs: Proofs, now: int) -> dict[str, Any]:
    """The record as every JSON of it says it, whichever way somebody asks."""
    return {
        "state": proofs.stand(now),
        "asked_at": _when(proofs.asked_at),
        "asked_by": proofs.asked_by or None,
        "begun_at": _when(proofs.begun_at),
        "last": _run(proofs.last) if proofs.last else None,
    }


def _run(proof: Proof) -> dict[str, Any]:
    return {
        "began_at": _when(proof.began_at),
        "ended_at": _when(proof.ended_at),
        "finished": proof.finished,
        "tasks": proof.tasks,
        "books": proof.books,
        "unaccounted": proof.unaccounted,
        "differences": proof.differences,
        "kinds": [{"kind": kind, "count": count} for kind, count in proof.kinds.items()],
        "findings": [_evidence(finding) for finding in proof.findings],
    }


def _evidence(finding: Finding) -> dict[str, Any]:
    owner = Owner.parse(finding.owner) if finding.owner else None
    return {
        "kind": finding.kind,
        "task_id": finding.task_id,
        "tenant": owner.tenant if owner else None,
        "user": owner.user if owner else None,
        "found": finding.found,
        "expected": finding.expected,
    }


def _when(at: int | None) -> str | None:
    return None if at is None else rfc3339(at)


def _proof(report: Report, began_at: int, now: int) -> Proof:
    return Proof(
        began_at=began_at,
        ended_at=now,
        finished=report.finished,
        broke_off=report.broke_off,
        tasks=report.tasks,
        books=report.books,
        unaccounted=report.unaccounted,
        kinds=dict(Counter(d.flaw.kind.value for d in report.differences)),
        findings=tuple(map(_finding, report.differences[:MOST_FINDINGS])),
    )


def _finding(difference: Difference) -> Finding:
    flaw = difference.flaw
    return Finding(
        kind=flaw.kind.value,
        found=flaw.found,
        expected=flaw.expected,
        task_id=flaw.task_id,
        owner=difference.owner,
    )
