"""The queue of errands: ended tasks that owe something and should be looked at soon."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from taskgate.settings import Stage

# Six times the outbox's time, as Lambda asks of a queue that it reads.
VISIBILITY = 180
# An errand is a hint: the clock brings the task back. A dead one tells that something is wrong.
MAX_RECEIVES = 10


class Errands(Construct):
    """The queue and its dead-letter queue. Exposes `queue` and `dead`."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.dead = self._queue(f"{stage.prefix}-errands-dead", 14, stage, None)
        self.queue = self._queue(f"{stage.prefix}-errands", 4, stage, self.dead)

    def _queue(self, name: str, days: int, stage: Stage, dead: sqs.Queue | None) -> sqs.Queue:
        return sqs.Queue(
            self,
            "Dead" if dead is None else "Queue",
            queue_name=name,
            visibility_timeout=cdk.Duration.seconds(VISIBILITY),
            retention_period=cdk.Duration.days(days),
            dead_letter_queue=(
                sqs.DeadLetterQueue(queue=dead, max_receive_count=MAX_RECEIVES) if dead else None
            ),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=not stage.emulator,
        )
