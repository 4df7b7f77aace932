"""The errands on SQS: tasks that owe something and should be looked at soon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from taskgate.aws.clients import available
from taskgate.aws.lanes import MAX_DELAY
from taskgate.errors import BadSetting

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsErrands:
    """The `Errands` port. A lost errand costs time only: the clock brings the task back."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client, self._url = client, url

    def send(self, task_id: str, delay: int, news: str | None = None) -> None:
        if not 0 <= delay <= MAX_DELAY:
            # The emulator takes more; SQS does not. Longer waits belong to the clock.
            raise BadSetting("delay", delay, f"0 to {MAX_DELAY} s")
        errand = {"task": task_id} | ({"news": news} if news else {})
        with available():
            self._client.send_message(
                QueueUrl=self._url, MessageBody=json.dumps(errand), DelaySeconds=delay
            )


def read(body: str) -> tuple[str, str | None]:
    """The task id of an errand's body and its news, if any; `ValueError` for anything else."""
    try:
        errand = json.loads(body)
        return str(errand["task"]), errand.get("news")
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("not an errand") from error
