"""Dead letters kept in the results bucket under ``dead/``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from taskgate.aws.bucket import CONFLICTS, EXISTS
from taskgate.aws.clients import available, code_of
from taskgate.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Archive:
    """The `Archive` port."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def keep(self, key: str, text: str) -> None:
        try:
            with available():
                self._client.put_object(
                    Bucket=self._bucket,
                    Key=key,
                    Body=text.encode(),
                    ContentType="application/json",
                    IfNoneMatch="*",
                )
        except ClientError as error:
            if code_of(error) in EXISTS:
                return
            if code_of(error) in CONFLICTS:
                raise Unavailable(str(error)) from error
            raise
