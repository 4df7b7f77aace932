"""The dead-letter function: reads the dead-letter queue of every lane."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.findings import acknowledge_wildcard
from cdk_app.function import FunctionCode, TaskgateFunction, allow
from cdk_app.lanes import DEAD_LETTER_VISIBILITY
from cdk_app.results_bucket import KEYS_OF_DEAD_LETTERS
from taskgate.settings import Stage

TIMEOUT = DEAD_LETTER_VISIBILITY // 6
BATCH = 10
# The lowest that Lambda takes, for each queue. A throttled poll would spend receives for nothing.
CONCURRENCY = 2


class DeadLetters(Construct):
    """The function and one event source a dead-letter queue. Exposes `function`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, code: FunctionCode, data: DataStack
    ) -> None:
        super().__init__(scope, name)
        made = TaskgateFunction(
            self,
            "Function",
            stage=stage,
            code=code,
            room="dead_letter",
            environment=data.environment_contract.as_variables(),
            statements=_statements(data),
            memory=256,
            timeout=TIMEOUT,
        )
        self.function = made.function
        acknowledge_wildcard(made.role, data.results.dead_letters_arn, KEYS_OF_DEAD_LETTERS)
        for lane, queue in data.lanes.dead.items():
            lambda_.EventSourceMapping(
                self,
                lane,
                target=self.function,
                event_source_arn=queue.queue_arn,
                batch_size=BATCH,
                max_concurrency=CONCURRENCY,
                # Both halves: the handler names the failed ids, and this makes Lambda heed them.
                report_batch_item_failures=True,
            )


def _statements(data: DataStack) -> list[iam.PolicyStatement]:
    return [
        allow(
            ["dynamodb:GetItem", "dynamodb:UpdateItem"],
            [data.tasks.table.table_arn],
            keys=["TASK#*", "LEDGER#*"],
        ),
        allow(["sqs:SendMessage"], data.lanes.arns),
        allow(
            ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
            [queue.queue_arn for queue in data.lanes.dead.values()],
        ),
        allow(["s3:PutObject"], [data.results.dead_letters_arn]),
    ]
