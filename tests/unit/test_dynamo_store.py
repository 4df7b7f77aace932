"""The DynamoDB ports keep the store's promises, on moto in process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws.ports import build
from taskgate.ports import Ports
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance import StoreConformance, World
from taskgate.testing.conformance.salvage import SalvageConformance

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    with mock_aws():
        yield build(aws_resources.create("moto"))


class TestDynamoStoreOnMoto(StoreConformance, SalvageConformance):
    @pytest.fixture
    def world(self, ports: Ports) -> World:
        return World(ports, owner=Owner("acme", f"user{next(_NUMBERS)}"))
