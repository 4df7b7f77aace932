"""The in-memory ports keep the store's promises."""

from __future__ import annotations

import pytest

from taskgate.testing.conformance import StoreConformance, World
from taskgate.testing.conformance.ledger import LedgerConformance
from taskgate.testing.conformance.salvage import SalvageConformance
from taskgate.testing.memory import MemoryWorld


class TestMemoryStore(StoreConformance, SalvageConformance, LedgerConformance):
    @pytest.fixture
    def world(self) -> World:
        return World(MemoryWorld().ports)
