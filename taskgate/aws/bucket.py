"""The bucket on S3: each result is written once, by one attempt, and never overwritten."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from taskgate.aws.clients import available, code_of
from taskgate.aws.forms import conditions_of, fields_of, stored_of
from taskgate.aws.parts import GREATEST_PUT, put_in_parts
from taskgate.errors import Unavailable
from taskgate.results import Fetched, Form, Stored

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONFLICTS: Final = frozenset({"ConditionalRequestConflict", "409"})
EXISTS: Final = frozenset({"PreconditionFailed", "412"})
# A role that may not list the bucket is told 403 of what is not there.
ABSENT: Final = frozenset({"NoSuchKey", "404", "NotFound", "403", "AccessDenied", "Forbidden"})
BLOCK: Final = 1024 * 1024
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


class S3Results:
    """The `Results` port."""

    def __init__(self, client: S3Client, bucket: str, greatest_put: int = GREATEST_PUT) -> None:
        self._client, self._bucket, self._greatest_put = client, bucket, greatest_put

    def put(self, key: str, path: str, content_type: str) -> bool:
        """Upload once. What is there already is our own when an answer was lost: it is compared."""
        try:
            with available():
                self._put(key, Path(path), content_type)
        except ClientError as error:
            if code_of(error) in EXISTS:
                return self._holds(key, Path(path))
            if code_of(error) in CONFLICTS:
                # Another put of the key is under way: not the same as "already there".
                raise Unavailable(str(error)) from error
            raise
        return True

    def sign(self, key: str, seconds: int, download_name: str | None = None) -> str:
        parameters: dict[str, Any] = {"Bucket": self._bucket, "Key": key}
        if download_name:
            # No name may end the quotes, and begin another header or another name.
            name = _UNSAFE.sub("_", download_name)
            parameters["ResponseContentDisposition"] = f'attachment; filename="{name}"'
        return str(
            self._client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        )

    def good_for(self, seconds: int) -> int:
        """A URL dies with the credentials that signed it, whatever time it names."""
        signer = getattr(self._client, "_request_signer", None)
        credentials: Any = getattr(signer, "_credentials", None)
        if (ends := getattr(credentials, "_expiry_time", None)) is None:
            return seconds  # they do not end, or do not say when: a Lambda's own outlast our links
        credentials.get_frozen_credentials()  # those that end soon are renewed here, if they can be
        ends = getattr(credentials, "_expiry_time", ends)
        left = (ends - datetime.now(UTC)).total_seconds()
        return max(1, min(seconds, int(left)))

    def form(self, key: str, terms: Stored, seconds: int) -> Form:
        fields = fields_of(terms)
        signed = self._client.generate_presigned_post(
            self._bucket,
            key,
            Fields=dict(fields),
            Conditions=conditions_of(terms, fields),
            ExpiresIn=seconds,
        )
        return Form(signed["url"], signed["fields"])

    def look(self, key: str) -> Stored | None:
        try:
            with available():
                return stored_of(self._client.head_object(Bucket=self._bucket, Key=key))
        except ClientError as error:
            _must_be_absent(error)
            return None

    def fetch(
        self, key: str, path: str, go_on: Callable[[], None] = lambda: None
    ) -> Fetched | None:
        digest = hashlib.sha256()
        try:
            with available(), Path(path).open("wb") as out:
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
                for block in answer["Body"].iter_chunks(BLOCK):
                    digest.update(block)
                    out.write(block)
                    go_on()
        except ClientError as error:
            _must_be_absent(error)
            return None
        return Fetched(stored_of(answer), digest.digest())

    def copy(self, source: str, target: str) -> bool:
        try:
            with available():
                self._client.copy_object(
                    Bucket=self._bucket,
                    Key=target,
                    CopySource={"Bucket": self._bucket, "Key": source},
                )
        except ClientError as error:
            _must_be_absent(error)
            return False
        return True

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

    def read(self, key: str, most: int) -> bytes | None:
        try:
            with available():
                answer = self._client.get_object(
                    Bucket=self._bucket, Key=key, Range=f"bytes=0-{most - 1}"
                )
                return answer["Body"].read()
        except ClientError as error:
            _must_be_absent(error)
            return None

    def _holds(self, key: str, path: Path) -> bool:
        """Whether the object has the bytes of the file. Rare, so it is read rather than believed."""
        digest = hashlib.sha256()
        with available():
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            if answer["ContentLength"] != path.stat().st_size:
                answer["Body"].close()
                return False
            for block in answer["Body"].iter_chunks(BLOCK):
                digest.update(block)
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest() == digest.digest()

    def _put(self, key: str, path: Path, content_type: str) -> None:
        if path.stat().st_size > self._greatest_put:
            put_in_parts(self._client, self._bucket, key, path, content_type, self._greatest_put)
            return
        with path.open("rb") as stream:
            self._client.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=stream,
                ContentType=content_type,
                IfNoneMatch="*",
            )


def _must_be_absent(error: ClientError) -> None:
    """Nothing is there; any other error goes on."""
    if code_of(error) not in ABSENT:
        raise error
