"""What each flow costs in calls and units, as it was measured (`tests/integration/measuring.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUDGETS: Final = Path(__file__).parent / "budgets.json"
_SERVICES: Final[Mapping[str, str]] = {
    "SendMessage": "sqs",
    "ReceiveMessage": "sqs",
    "DeleteMessage": "sqs",
    "ChangeMessageVisibility": "sqs",
    "PutObject": "s3_put",
}
"""Calls that are billed by the call; DynamoDB's are billed by their units."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow, once."""

    calls: Mapping[str, int]
    write_units: float = 0.0
    read_units: float = 0.0
    log_bytes: int = 0

    def requests(self, service: str) -> int:
        """Calls of a service that bills by the call: ``sqs`` or ``s3_put``."""
        return sum(n for name, n in self.calls.items() if _SERVICES.get(name) == service)


@dataclass(frozen=True, slots=True)
class Measured:
    """All flows by name, and the bytes that a task leaves on record."""

    flows: Mapping[str, Flow]
    task_bytes: int


def measured() -> Measured:
    """What was measured last, and checked in."""
    found = json.loads(BUDGETS.read_text())
    return Measured(
        {name: Flow(**flow) for name, flow in found["flows"].items()}, found["bytes"]["task"]
    )
