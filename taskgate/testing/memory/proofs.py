"""The record of the last check in memory, and one who only counts how often a run was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from taskgate.proofs import Proof, Proofs, from_text, to_text


class MemoryProofs:
    """The `ProofStore` port."""

    def __init__(self) -> None:
        self._proofs = Proofs()

    def read(self) -> Proofs:
        return self._proofs

    def asked(self, at: int, by: str) -> None:
        self._proofs = replace(self._proofs, asked_at=at, asked_by=by)

    def begun(self, at: int) -> None:
        self._proofs = replace(self._proofs, begun_at=at)

    def keep(self, proof: Proof) -> None:
        self._proofs = replace(self._proofs, last=from_text(to_text(proof)))


@dataclass
class MemoryProver:
    """The `Prover` port."""

    started: int = 0

    def start(self) -> None:
        self.started += 1
