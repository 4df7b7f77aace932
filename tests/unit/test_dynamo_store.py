"""The DynamoDB ports keep the store's promises, on moto in process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws.codec import part_key
from taskgate.aws.ports import build
from taskgate.aws.tasks import DynamoTasks
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance import StoreConformance, World
from taskgate.testing.conformance.ledger import LedgerConformance
from taskgate.testing.conformance.salvage import SalvageConformance
from taskgate.testing.factories import task_in

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    with mock_aws():
        yield build(aws_resources.create("moto"))


class TestDynamoStoreOnMoto(StoreConformance, SalvageConformance, LedgerConformance):
    @pytest.fixture
    def world(self, ports: Ports) -> World:
        return World(ports, owner=Owner("acme", f"user{next(_NUMBERS)}"))

    def test_the_parts_of_a_task_with_another_life_go_with_its_new_end(self, world: World) -> None:
        """TTL takes what a task was given some days after the time that it had to live at first."""
        task = task_in(State.CREATED, at=world.ports.now(), owner=world.owner, follow_ups=1)
        world.submit(task, then="[]")
        before = {part: _goes_at(world, task.id, part) for part in ("INPUT", "THEN")}
        week = 7 * 24 * 3600
        assert world.ports.tasks.keep_input(task, task.deadline_at + week * 1000)
        after = {part: _goes_at(world, task.id, part) for part in ("INPUT", "THEN")}
        assert after == {part: at + week for part, at in before.items()}


def _goes_at(world: World, task_id: str, part: str) -> int:
    assert isinstance(world.ports.tasks, DynamoTasks)
    item = world.ports.tasks._item(part_key(task_id, part))
    return int(item["expires_at"]["N"])
