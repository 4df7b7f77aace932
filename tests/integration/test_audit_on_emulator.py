"""The audit on DynamoDB keeps its promises on the emulator, which runs real transactions."""

from __future__ import annotations

import itertools

import pytest

from taskgate.testing.conformance.audit import AuditConformance, AuditWorld
from tests.unit.test_dynamo_audit import audited

_NUMBERS = itertools.count(1)


class TestDynamoAuditOnEmulator(AuditConformance):
    @pytest.fixture
    def world(self) -> AuditWorld:
        return audited(f"audit{next(_NUMBERS)}")
