"""The errands on SQS: tasks that owe something and should be looked at soon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from taskgate.aws.clients import available

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsErrands:
    """The `Errands` port. A lost errand costs time only: the clock brings the task back."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client, self._url = client, url

    def send(self, task_id: str, delay: int) -> None:
        with available():
            self._client.send_message(
                QueueUrl=self._url, MessageBody=json.dumps({"task": task_id}), DelaySeconds=delay
            )


def read(body: str) -> str:
    """The task id of an errand's body; `ValueError` for anything else."""
    try:
        return str(json.loads(body)["task"])
    except (KeyError, TypeError) as error:
        raise ValueError("not an errand") from error
