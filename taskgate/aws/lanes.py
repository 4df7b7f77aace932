"""The lanes on SQS. Bodies are ids only and ASCII; what a user wrote never travels here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.traces import TRACE_HEADERS, attributes, traced
from taskgate.errors import BadSetting
from taskgate.events import event, swallowed
from taskgate.ports import Delivery, Depth, Message
from taskgate.principal import NAME
from taskgate.slots import MOST_SLOTS

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

MAX_DELAY: Final = 900
WAITING: Final = "ApproximateNumberOfMessages"
TAKEN: Final = "ApproximateNumberOfMessagesNotVisible"
MAX_VISIBILITY: Final = 43_200
MOST_CLAIMS: Final = 1_000_000
"""No task's budgets allow so many."""
GONE: Final = frozenset(
    {
        "AWS.SimpleQueueService.MessageNotInflight",
        "MessageNotInflight",
        "ReceiptHandleIsInvalid",
        "InvalidParameterValue",
    }
)
"""The receipt is of an earlier receive: the message is somebody else's now, or gone."""


class SqsLanes:
    """The `Lanes` port."""

    def __init__(self, client: SQSClient, urls: Mapping[str, str]) -> None:
        self._client, self._urls = client, dict(urls)

    def send(self, lane: str, message: Message, delay: int = 0) -> None:
        if not 0 <= delay <= MAX_DELAY:
            # The emulator takes more; SQS does not. Longer waits belong to the clock.
            raise BadSetting("delay", delay, f"0 to {MAX_DELAY} s")
        # On a standard queue a group orders nothing: SQS puts quiet tenants before a noisy one.
        group: Any = {"MessageGroupId": message.tenant} if message.tenant else {}
        with available():
            self._client.send_message(
                QueueUrl=self._urls[lane],
                MessageBody=write(message),
                DelaySeconds=delay,
                MessageAttributes=attributes(message),
                **group,
            )

    def receive(self, lane: str, wait: int = 0, most: int = 1) -> Sequence[Delivery]:
        with available():
            answer = self._client.receive_message(
                QueueUrl=self._urls[lane],
                WaitTimeSeconds=wait,
                MaxNumberOfMessages=most,
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
                MessageAttributeNames=list(TRACE_HEADERS),
            )
        found = [self._delivery(lane, raw) for raw in answer.get("Messages", [])]
        return [delivery for delivery in found if delivery]

    def delete(self, delivery: Delivery) -> None:
        try:
            with available():
                self._client.delete_message(
                    QueueUrl=self._urls[delivery.lane], ReceiptHandle=delivery.receipt
                )
        except ClientError as error:
            if code_of(error) not in GONE:
                raise
            swallowed("receipt_stale", error, task=delivery.message.task_id)

    def hide(self, delivery: Delivery, seconds: int) -> None:
        try:
            with available():
                self._client.change_message_visibility(
                    QueueUrl=self._urls[delivery.lane],
                    ReceiptHandle=delivery.receipt,
                    VisibilityTimeout=min(seconds, MAX_VISIBILITY),
                )
        except ClientError as error:
            if code_of(error) not in GONE:
                raise
            swallowed("receipt_stale", error, task=delivery.message.task_id)

    def waiting(self, lane: str) -> int:
        return int(self._attribute(lane, WAITING))

    def depth(self, lane: str) -> Depth:
        found = self._attributes(lane, WAITING, TAKEN)
        return Depth(int(found[WAITING]), int(found[TAKEN]))

    def visibility(self, lane: str) -> int:
        """The lane's real visibility timeout in seconds, as the queue has it now."""
        return int(self._attribute(lane, "VisibilityTimeout"))

    def _attribute(self, lane: str, name: str) -> str:
        return self._attributes(lane, name)[name]

    def _attributes(self, lane: str, *names: str) -> Mapping[str, str]:
        with available():
            answer = self._client.get_queue_attributes(
                QueueUrl=self._urls[lane],
                AttributeNames=list(names),  # type: ignore[arg-type]
            )
        return dict(answer["Attributes"])  # type: ignore[arg-type]

    def _delivery(self, lane: str, raw: MessageTypeDef) -> Delivery | None:
        receives = int(raw.get("Attributes", {}).get("ApproximateReceiveCount", 1))
        message = read(raw.get("Body", ""))
        if message is None:
            # Not ours: it stays, comes back, and ends in the dead-letter queue, where it is kept.
            event("message_unreadable", lane=lane, receives=receives)
            return None
        message = traced(message, raw.get("MessageAttributes", {}))
        return Delivery(message, lane, raw["ReceiptHandle"], receives)


def write(message: Message) -> str:
    """The body: ASCII JSON of ids."""
    body = {"task": message.task_id, "attempt": message.attempt}
    more = {"tenant": message.tenant, "type": message.type, "most": message.max_processing}
    return json.dumps(body | {name: value for name, value in more.items() if value})


def read(body: str) -> Message | None:
    """The message of a body, or None when it is not one that `write` made.

    A lane may be written to by more than us, and a worker must survive whatever comes: the parts go into
    keys and back into lanes, so each is held to its shape here.
    """
    try:
        parsed = json.loads(body)
        message = Message(
            parsed["task"],
            parsed["attempt"],
            parsed.get("tenant", ""),
            parsed.get("type", ""),
            parsed.get("most"),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return message if _sound(message) else None


def _sound(message: Message) -> bool:
    words = (message.task_id, message.tenant or "-", message.type or "-")
    most = message.max_processing
    return (
        all(isinstance(word, str) and NAME.fullmatch(word) for word in words)
        and _is_within(message.attempt, 0, MOST_CLAIMS)
        and (most is None or _is_within(most, 1, MOST_SLOTS))
    )


def _is_within(number: object, least: int, most: int) -> bool:
    return type(number) is int and least <= number <= most
