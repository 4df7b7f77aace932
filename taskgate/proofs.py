"""What the last check of everything on record found, kept for operators; and who asked for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

RUN_MS: Final = 15 * 60_000
"""A run that said nothing for so long has died: the function's own time is below it."""
ASKED_MS: Final = 60 * 60_000
"""Who asked so long ago asked in vain: whatever waits to be started is dropped by then."""
MOST_FINDINGS: Final = 100
MOST_TEXT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that did not hold, with its evidence: what was there, and what should be."""

    kind: str
    found: str
    expected: str
    task_id: str | None = None
    owner: str = ""
    """``tenant#user``; empty when it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One run. Times are epoch ms."""

    began_at: int
    ended_at: int
    finished: bool
    """Whether it came to the end of all records."""
    broke_off: bool = False
    tasks: int = 0
    books: int = 0
    unaccounted: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    """How many differences there were of each kind."""
    findings: tuple[Finding, ...] = ()
    """The first `MOST_FINDINGS` of them."""

    @property
    def differences(self) -> int:
        return sum(self.kinds.values())


class Stand(StrEnum):
    """What goes on now."""

    IDLE = "idle"
    ASKED = "asked"
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """The record. Times are epoch ms."""

    asked_at: int | None = None
    asked_by: str = ""
    begun_at: int | None = None
    """When the latest run began."""
    last: Proof | None = None

    def stand(self, now: int) -> Stand:
        """Whether a run goes on, or is asked for and has not begun."""
        ended = self.last is not None and self.last.began_at >= (self.begun_at or 0)
        if self.begun_at is not None and not ended and now - self.begun_at < RUN_MS:
            return Stand.RUNNING
        waits = self.asked_at is not None and self.asked_at > (self.begun_at or 0)
        if waits and now - (self.asked_at or 0) < ASKED_MS:
            return Stand.ASKED
        return Stand.IDLE


class ProofStore(Protocol):
    """Where it is kept. Every method may raise `Unavailable`."""

    def read(self) -> Proofs:
        """The record, read consistently."""

    def asked(self, at: int, by: str) -> None:
        """A run was asked for."""

    def begun(self, at: int) -> None:
        """A run has begun."""

    def keep(self, proof: Proof) -> None:
        """A run has come to its end; it takes the place of the one before."""


class Prover(Protocol):
    """Who carries a run out."""

    def start(self) -> None:
        """Have a run begin soon; `Unavailable` when that could not be asked for."""


def to_text(proof: Proof) -> str:
    """As JSON, bounded in size."""
    findings = [_cut(finding) for finding in proof.findings[:MOST_FINDINGS]]
    return json.dumps({**asdict(proof), "findings": findings})


def from_text(text: str) -> Proof:
    """What `to_text` wrote."""
    known = _known(Proof, json.loads(text))
    findings = tuple(Finding(**_known(Finding, one)) for one in known.pop("findings"))
    return Proof(**known, findings=findings)


def _cut(finding: Finding) -> dict[str, Any]:
    texts = {"found": finding.found[:MOST_TEXT], "expected": finding.expected[:MOST_TEXT]}
    return {**asdict(finding), **texts}


def _known(kind: type[Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Without what a later version added."""
    return {name: value for name, value in fields.items() if name in kind.__dataclass_fields__}
