"""Files that are too large for one PutObject go up in parts; they are there whole, or not at all."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from botocore.exceptions import BotoCoreError, ClientError

from taskgate.events import swallowed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

GREATEST_PUT: Final = 5 * 1024**3
"""Bytes that S3 takes in one PutObject."""
LEAST_PART: Final = 64 * 1024**2
MOST_PARTS: Final = 10_000


def put_in_parts(
    client: S3Client, bucket: str, key: str, path: Path, content_type: str, part: int
) -> None:
    """Upload the file once: the last call, which makes the object, finds no other of the key."""
    made = client.create_multipart_upload(Bucket=bucket, Key=key, ContentType=content_type)
    upload_id, size = made["UploadId"], path.stat().st_size
    length = min(part, max(LEAST_PART, math.ceil(size / MOST_PARTS)))
    try:
        with path.open("rb") as stream:
            parts = _sent(client, bucket, key, upload_id, stream, length)
        client.complete_multipart_upload(
            Bucket=bucket,
            Key=key,
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},
            IfNoneMatch="*",
        )
    except BaseException:
        _abort(client, bucket, key, upload_id)
        raise


def _sent(
    client: S3Client, bucket: str, key: str, upload_id: str, stream: BinaryIO, length: int
) -> list[CompletedPartTypeDef]:
    parts: list[CompletedPartTypeDef] = []
    while block := stream.read(length):
        number = len(parts) + 1
        answer = client.upload_part(
            Bucket=bucket, Key=key, UploadId=upload_id, PartNumber=number, Body=block
        )
        parts.append({"PartNumber": number, "ETag": answer["ETag"]})
    return parts


def _abort(client: S3Client, bucket: str, key: str, upload_id: str) -> None:
    try:
        client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    except (ClientError, BotoCoreError) as error:
        # The bucket's own rule clears it away after a day.
        swallowed("parts_not_aborted", error, key=key)
