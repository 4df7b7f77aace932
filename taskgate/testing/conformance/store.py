"""What every store must do: the promises of `TaskStore` and `Pulses`, by their concern."""

from __future__ import annotations

import pytest

from taskgate.testing.conformance.changes import ChangesConformance
from taskgate.testing.conformance.claims import ClaimsConformance
from taskgate.testing.conformance.indexes import IndexesConformance
from taskgate.testing.conformance.pulses import PulsesConformance
from taskgate.testing.conformance.records import RecordsConformance
from taskgate.testing.conformance.submits import SubmitsConformance
from taskgate.testing.conformance.world import World


class StoreConformance(
    RecordsConformance,
    SubmitsConformance,
    ChangesConformance,
    ClaimsConformance,
    IndexesConformance,
    PulsesConformance,
):
    """The whole suite."""

    @pytest.fixture
    def world(self) -> World:
        """The store under test, with an owner of its own."""
        raise NotImplementedError
