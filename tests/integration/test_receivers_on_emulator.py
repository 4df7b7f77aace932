"""The receivers' records on the emulator."""

from __future__ import annotations

import pytest

from taskgate.ports import Ports
from taskgate.receivers import Receivers
from taskgate.testing.conformance.receivers import ReceiversConformance


class TestDynamoReceiversOnEmulator(ReceiversConformance):
    @pytest.fixture
    def receivers(self, ports: Ports) -> Receivers:
        return ports.receivers
