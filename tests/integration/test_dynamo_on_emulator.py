"""The DynamoDB ports keep the store's promises on the emulator."""

from __future__ import annotations

import pytest

from taskgate.testing.conformance import StoreConformance, World
from taskgate.testing.conformance.ledger import LedgerConformance
from taskgate.testing.conformance.salvage import SalvageConformance


class TestDynamoStoreOnEmulator(StoreConformance, SalvageConformance, LedgerConformance):
    @pytest.fixture
    def world(self, world: World) -> World:
        return world
