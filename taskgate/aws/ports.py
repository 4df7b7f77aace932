"""The ports of a room, built once at start from its environment."""

from __future__ import annotations

import time

from taskgate.aws import clients
from taskgate.aws.bucket import S3Results
from taskgate.aws.bulks import DynamoBulks
from taskgate.aws.errands import SqsErrands
from taskgate.aws.lanes import SqsLanes
from taskgate.aws.pulses import DynamoPulses
from taskgate.aws.rates import DynamoRates
from taskgate.aws.receivers import DynamoReceivers
from taskgate.aws.roster import DynamoRoster
from taskgate.aws.slots import DynamoSlots
from taskgate.aws.spreads import DynamoSpreads
from taskgate.aws.switches import DynamoSwitches
from taskgate.aws.tasks import DynamoTasks
from taskgate.ports import Ports
from taskgate.settings import Environment


def now() -> int:
    """Epoch milliseconds, UTC."""
    return time.time_ns() // 1_000_000


def build(environment: Environment) -> Ports:
    """Clients and ports; boto reads region, credentials and endpoint from the process."""
    dynamodb = clients.dynamodb()
    sqs = clients.sqs()
    return Ports(
        tasks=DynamoTasks(
            dynamodb,
            tasks=environment.tasks_table,
            ephemeral=environment.ephemeral_table,
            clock_shards=environment.clock_shards,
            input_days=environment.result_days,
            now=now,
        ),
        pulses=DynamoPulses(dynamodb, table=environment.ephemeral_table, now=now),
        rates=DynamoRates(dynamodb, table=environment.ephemeral_table, now=now),
        slots=DynamoSlots(dynamodb, table=environment.ephemeral_table, now=now),
        bulks=DynamoBulks(dynamodb, table=environment.tasks_table),
        switches=DynamoSwitches(dynamodb, table=environment.tasks_table),
        spreads=DynamoSpreads(dynamodb, table=environment.ephemeral_table, now=now),
        roster=DynamoRoster(dynamodb, table=environment.ephemeral_table, now=now),
        lanes=SqsLanes(sqs, environment.lanes),
        errands=SqsErrands(sqs, environment.errands),
        receivers=DynamoReceivers(dynamodb, table=environment.ephemeral_table, now=now),
        results=S3Results(clients.s3(), environment.results_bucket),
        now=now,
    )
