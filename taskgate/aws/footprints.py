"""The footprints of attempts on DynamoDB's `ephemeral` table and in the bucket."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.pulses import decode_pulse, pulse_key
from taskgate.aws.values import n, s
from taskgate.books import Footprint

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

_RESULT: Final = re.compile(r"r/(?P<tenant>[^/]+)/(?P<task>[^/]+)/(?P<attempt>\d+)/")


class AwsFootprints:
    """The `Footprints` port. Reads the whole of `ephemeral`, and of the bucket what is new enough."""

    def __init__(
        self,
        dynamodb: DynamoDBClient,
        s3: S3Client,
        *,
        ephemeral: str,
        bucket: str,
        now: Callable[[], int],
    ) -> None:
        self._dynamodb, self._s3 = dynamodb, s3
        self._ephemeral, self._bucket, self._now = ephemeral, bucket, now

    def pulses(self) -> Iterator[Footprint]:
        where: dict[str, Any] = {}
        while True:
            with available():
                answer = self._dynamodb.scan(
                    TableName=self._ephemeral,
                    FilterExpression="begins_with(#pk, :pulse)",
                    ExpressionAttributeNames={"#pk": "pk"},
                    ExpressionAttributeValues={":pulse": s("PULSE#")},
                    **where,
                )
            for item in answer["Items"]:
                if pulse := decode_pulse(item, self._now()):
                    yield Footprint(pulse.task_id, pulse.attempt)
            if "LastEvaluatedKey" not in answer:
                return
            where = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def results(self, since: str) -> Iterator[Footprint]:
        for folder in self._tenants():
            for key in self._keys(folder, f"{folder}{since}"):
                if found := _RESULT.match(key):
                    yield Footprint(found["task"], int(found["attempt"]), found["tenant"])

    def forget(self, footprint: Footprint) -> None:
        try:
            with available():
                self._dynamodb.delete_item(
                    TableName=self._ephemeral,
                    Key=pulse_key(footprint.task_id),
                    ConditionExpression="#attempt <= :attempt",
                    ExpressionAttributeNames={"#attempt": "attempt"},
                    ExpressionAttributeValues={":attempt": n(footprint.attempt)},
                )
        except ClientError as error:
            # A later attempt beats, or there is no pulse: its footprint lay in the bucket.
            if code_of(error) != "ConditionalCheckFailedException":
                raise

    def _tenants(self) -> Iterator[str]:
        """The folders of the tenants that have results, each with its slash."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix="r/", Delimiter="/"
        )
        for page in pages:
            yield from (found["Prefix"] for found in page.get("CommonPrefixes", []))

    def _keys(self, folder: str, after: str) -> Iterator[str]:
        """Ids sort by time, so what is older is never listed."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=folder, StartAfter=after
        )
        for page in pages:
            yield from (found["Key"] for found in page.get("Contents", []))
