"""The desk that every route of this room is served at."""

from __future__ import annotations

from dataclasses import dataclass

from functions.rooms import Room
from taskgate.catalog import Catalog
from taskgate.gateway.views.cursors import Cursors
from taskgate.keystore import KeyStore
from taskgate.plans import PlanStore
from taskgate.ports import Ports
from taskgate.proofs import ProofStore, Prover


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Lives as long as the process."""

    room: Room
    keys: KeyStore
    plans: PlanStore
    cursors: Cursors
    catalog: Catalog
    proofs: ProofStore
    prover: Prover

    @property
    def ports(self) -> Ports:
        return self.room.ports
