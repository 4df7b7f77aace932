"""One queue a lane, each with a dead-letter queue of its own."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from taskgate.settings import Stage

# High on purpose: SQS counts every receive, also those of drained and lost workers. Attempts
# and crashes are counted on the task; this only parks a message that nobody can even claim.
MAX_RECEIVES = 10
RETENTION = cdk.Duration.days(4)
# A moved message keeps its age, so the dead-letter queue must keep messages for longer.
DEAD_LETTER_RETENTION = cdk.Duration.days(14)
# Six times the dead-letter function's time, as Lambda asks of a queue that it reads.
DEAD_LETTER_VISIBILITY = 180


class Lanes(Construct):
    """The queues, by lane name. Exposes `queues`, `dead`, `urls` and `arns`."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, lanes: tuple[str, ...]
    ) -> None:
        super().__init__(scope, name)
        self.dead = {lane: self._dead_letters(lane, stage) for lane in lanes}
        self.queues = {lane: self._queue(lane, stage) for lane in lanes}

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each lane's queue."""
        return {lane: queue.queue_url for lane, queue in self.queues.items()}

    @property
    def arns(self) -> list[str]:
        """The ARNs of the lanes, without their dead-letter queues."""
        return [queue.queue_arn for queue in self.queues.values()]

    def _dead_letters(self, lane: str, stage: Stage) -> sqs.Queue:
        return sqs.Queue(
            self,
            f"{lane}-dead",
            queue_name=f"{stage.prefix}-{lane}-dead",
            visibility_timeout=cdk.Duration.seconds(DEAD_LETTER_VISIBILITY),
            retention_period=DEAD_LETTER_RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            # The emulator speaks plain HTTP on loopback, and it does enforce this policy.
            enforce_ssl=not stage.emulator,
        )

    def _queue(self, lane: str, stage: Stage) -> sqs.Queue:
        return sqs.Queue(
            self,
            lane,
            queue_name=f"{stage.prefix}-{lane}",
            # Equal to the lease: a dead worker's message comes back when its lease is over.
            visibility_timeout=cdk.Duration.seconds(stage.timing.lease),
            receive_message_wait_time=cdk.Duration.seconds(20),
            retention_period=RETENTION,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead[lane], max_receive_count=MAX_RECEIVES
            ),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=not stage.emulator,
        )
