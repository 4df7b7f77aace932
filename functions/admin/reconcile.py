"""The proof that every task is accounted for: what the last run found, and another run. For operators."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from functions.admin.bodies import AskBody
from functions.admin.desk import Desk
from functions.http.answers import answer
from functions.http.asked import Asked
from taskgate.gateway.office import proving


def last(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/reconcile`: what the last run found, and whether one goes on."""
    asked.query()
    return answer(proving.told(proving.read(desk.proofs, asked.principal), desk.ports.now()))


def ask(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/reconcile`: 202; a run begins soon, or one does already."""
    asked.query()
    AskBody.of(asked.optional_body())
    now = desk.ports.now()
    known = proving.ask(desk.proofs, desk.prover, asked.principal, now)
    return answer(proving.told(known, now), 202)
