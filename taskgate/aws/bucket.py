"""Results on S3: each object is written once, by one attempt, and never overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONFLICTS: Final = frozenset({"ConditionalRequestConflict", "409"})
EXISTS: Final = frozenset({"PreconditionFailed", "412"})


class S3Results:
    """The `Results` port."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def put(self, key: str, path: str, content_type: str) -> None:
        """Upload once. The key holds task and attempt, so what is there already is our own."""
        try:
            with available(), Path(path).open("rb") as stream:
                self._client.put_object(
                    Bucket=self._bucket,
                    Key=key,
                    Body=stream,
                    ContentType=content_type,
                    IfNoneMatch="*",
                )
        except ClientError as error:
            if code_of(error) in EXISTS:
                return
            if code_of(error) in CONFLICTS:
                # Another put of the key is under way: not the same as "already there".
                raise Unavailable(str(error)) from error
            raise

    def sign(self, key: str, seconds: int, download_name: str | None = None) -> str:
        parameters: dict[str, Any] = {"Bucket": self._bucket, "Key": key}
        if download_name:
            parameters["ResponseContentDisposition"] = f'attachment; filename="{download_name}"'
        return str(
            self._client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        )

    def fetch(self, key: str, path: str) -> None:
        with available():
            self._client.download_file(self._bucket, key, path)

    def remove(self, prefix: str, keep: str = "") -> int:
        removed = 0
        with available():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix
            )
            for page in pages:
                keys = [o["Key"] for o in page.get("Contents", [])]
                gone = [k for k in keys if not (keep and k.startswith(keep))]
                if gone:
                    self._client.delete_objects(
                        Bucket=self._bucket, Delete={"Objects": [{"Key": k} for k in gone]}
                    )
                removed += len(gone)
        return removed

    def read(self, key: str, most: int) -> bytes:
        with available():
            answer = self._client.get_object(
                Bucket=self._bucket, Key=key, Range=f"bytes=0-{most - 1}"
            )
            return answer["Body"].read()
