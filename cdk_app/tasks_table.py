"""The records: every task, ledger, idempotency key and API key, and the three indexes."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from taskgate.settings import Stage

TEXT = dynamodb.AttributeType.STRING
NUMBER = dynamodb.AttributeType.NUMBER

INDEXES = {
    # A user's tasks, newest first: the ids in pk sort by time.
    "by_user": (("owner", TEXT), ("pk", TEXT)),
    # The clocks. Sparse: a settled task has none, so the sweep costs O(due).
    "by_clock": (("clock_shard", TEXT), ("due_at", NUMBER)),
    # Failed and timed out only, by day, for operators across tenants.
    "by_problem": (("problem_day", TEXT), ("ended_at", NUMBER)),
}


class TasksTable(Construct):
    """The tasks table. Exposes `table` and the ARN of each index."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.table = dynamodb.Table(
            self,
            "Table",
            table_name=f"{stage.prefix}-tasks",
            partition_key=dynamodb.Attribute(name="pk", type=TEXT),
            sort_key=dynamodb.Attribute(name="sk", type=TEXT),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            time_to_live_attribute="expires_at",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=stage.retain_data,
            removal_policy=(
                cdk.RemovalPolicy.RETAIN if stage.retain_data else cdk.RemovalPolicy.DESTROY
            ),
        )
        # All indexes are here from the first release: a later one must be back-filled, and
        # CloudFormation adds only one in each update.
        for index, (partition, sort) in INDEXES.items():
            self._add_index(index, partition, sort)

    def index_arn(self, index: str) -> str:
        """The ARN of one index, for a statement that names no other."""
        if index not in INDEXES:
            raise KeyError(index)
        return f"{self.table.table_arn}/index/{index}"

    def _add_index(
        self,
        name: str,
        partition: tuple[str, dynamodb.AttributeType],
        sort: tuple[str, dynamodb.AttributeType],
    ) -> None:
        # Keys only: a wider projection would be written again at each change of a task.
        self.table.add_global_secondary_index(
            index_name=name,
            partition_key=dynamodb.Attribute(name=partition[0], type=partition[1]),
            sort_key=dynamodb.Attribute(name=sort[0], type=sort[1]),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
