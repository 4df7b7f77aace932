"""The proof that every task is accounted for: what the last run found, and another run. For operators."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.bodies import AskBody
from functions.admin.desk import Desk
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.gateway.office import proving
from taskgate.proofs import Finding, Proof, Proofs
from taskgate.task import Owner


def last(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/reconcile`: what the last run found, and whether one goes on."""
    asked.query()
    return answer(_shown(proving.read(desk.proofs, asked.principal), desk.ports.now()))


def ask(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/reconcile`: 202; a run begins soon, or one does already."""
    asked.query()
    AskBody.of(asked.optional_body())
    now = desk.ports.now()
    known = proving.ask(desk.proofs, desk.prover, asked.principal, now)
    return answer(_shown(known, now), 202)


def _shown(proofs: Proofs, now: int) -> dict[str, Any]:
    return {
        "state": proofs.stand(now),
        "asked_at": when(proofs.asked_at),
        "asked_by": proofs.asked_by or None,
        "begun_at": when(proofs.begun_at),
        "last": _run(proofs.last) if proofs.last else None,
    }


def _run(proof: Proof) -> dict[str, Any]:
    return {
        "began_at": when(proof.began_at),
        "ended_at": when(proof.ended_at),
        "finished": proof.finished,
        "tasks": proof.tasks,
        "books": proof.books,
        "unaccounted": proof.unaccounted,
        "differences": proof.differences,
        "kinds": [{"kind": kind, "count": count} for kind, count in proof.kinds.items()],
        "findings": [_finding(finding) for finding in proof.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    owner = Owner.parse(finding.owner) if finding.owner else None
    return {
        "kind": finding.kind,
        "task_id": finding.task_id,
        "tenant": owner.tenant if owner else None,
        "user": owner.user if owner else None,
        "found": finding.found,
        "expected": finding.expected,
    }
