"""One explicit set of timeouts and retries for every client.

boto's defaults changed between minor versions (legacy and standard mode, 3 to 10 attempts), and the
Lambda runtime's own boto3 need not be ours: nothing here is left to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import boto3
from botocore import exceptions
from botocore.config import Config
from botocore.exceptions import ClientError

from taskgate.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 5
LONG_POLL_SECONDS: Final = 20
ATTEMPTS: Final = 3

BUSY: Final = frozenset(
    {
        "InternalServerError",
        "InternalError",
        "LimitExceededException",
        "OverLimit",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottlingException",
        "Throttling",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "RequestTimeout",
        "TransactionInProgressException",
    }
)
"""Error codes that say "not now": nothing is known to have changed."""
INDEX_COMES: Final = ("backfilling global secondary index", "does not have the specified index")
"""What DynamoDB says of an index that an update of the stack has only begun to make."""


def dynamodb() -> DynamoDBClient:
    return cast("DynamoDBClient", _client("dynamodb", READ_SECONDS))


def sqs() -> SQSClient:
    """Its read time-out outlasts the longest poll, and is finite: no receive hangs for ever."""
    return cast("SQSClient", _client("sqs", LONG_POLL_SECONDS + READ_SECONDS))


def s3() -> S3Client:
    return cast("S3Client", _client("s3", 60))


def functions() -> Any:
    """Of Lambda. Untyped: one call of it is made."""
    return _client("lambda", READ_SECONDS)


def code_of(error: ClientError) -> str:
    """The service's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def available() -> Iterator[None]:
    """Turn "busy" and "out of reach" into `Unavailable`; everything else passes."""
    try:
        yield
    except (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.IncompleteReadError,
    ) as error:
        raise Unavailable(str(error)) from error
    except ClientError as error:
        if _passing(error):
            raise Unavailable(str(error)) from error
        raise


def _passing(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code_of(error) == "ValidationException":
        return any(words in str(error) for words in INDEX_COMES)
    return code_of(error) in BUSY or status >= 500


def _client(service: str, read_seconds: int) -> object:
    config = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        tcp_keepalive=True,
        max_pool_connections=20,
        # Signed URLs must name the bucket's own region and use SigV4, or they redirect and fail.
        s3={"addressing_style": "path" if "AWS_ENDPOINT_URL" in os.environ else "virtual"},
        signature_version="s3v4" if service == "s3" else None,
    )
    return boto3.client(service, config=config)  # type: ignore[call-overload]
