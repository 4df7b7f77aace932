"""The audit on DynamoDB keeps its promises, on moto in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.audit import DynamoAudit
from taskgate.aws.codec import encode, task_key
from taskgate.aws.ports import build
from taskgate.books import Unreadable
from taskgate.task import Task
from taskgate.testing import aws_resources
from taskgate.testing.conformance.audit import AuditConformance, AuditWorld


def audited(name: str) -> AuditWorld:
    """A table of its own, and an audit of it."""
    environment = aws_resources.create(name)
    client, shards = clients.dynamodb(), environment.clock_shards

    def force(task: Task) -> None:
        client.put_item(TableName=environment.tasks_table, Item=encode(task, shards))

    def unlist(task: Task) -> None:
        client.update_item(
            TableName=environment.tasks_table,
            Key=task_key(task.id),
            UpdateExpression="REMOVE #clock",
            ExpressionAttributeNames={"#clock": "clock_shard"},
        )

    audit = DynamoAudit(client, table=environment.tasks_table, clock_shards=shards)
    return AuditWorld(build(environment), audit=audit, force=force, unlist=unlist)


class TestDynamoAuditOnMoto(AuditConformance):
    @pytest.fixture
    def world(self) -> Iterator[AuditWorld]:
        with mock_aws():
            yield audited("audit")

    def test_a_record_that_cannot_be_read_is_told_and_stops_nobody(self, world: AuditWorld) -> None:
        broken, sound = world.new(), world.new()
        client = clients.dynamodb()
        client.update_item(
            TableName="audit-tasks",
            Key=task_key(broken.id),
            UpdateExpression="SET #limits = :none",
            ExpressionAttributeNames={"#limits": "limits"},
            ExpressionAttributeValues={":none": {"S": "gone"}},
        )
        report = world.reconcile()
        assert [d.flaw.task_id for d in report.differences] == [f"TASK#{broken.id}"]
        assert [d.outcome for d in world.reconcile(apply=True).differences] == ["left: by hand"]
        assert world.ports.tasks.ledger(world.owner).active == {broken.id, sound.id}
        assert world.audit
        rows = [row for s in range(3) for row in world.audit.rows(s, 3).rows]
        assert [type(row) for row in rows].count(Unreadable) == 1

    def test_a_scan_is_paced_by_the_units_that_it_read(self, world: AuditWorld) -> None:
        slept: list[float] = []
        world.new()
        audit = DynamoAudit(
            clients.dynamodb(), table="audit-tasks", clock_shards=16, pace=2.0, sleep=slept.append
        )
        audit.rows(0, 1)
        assert slept
        assert slept[0] > 0
