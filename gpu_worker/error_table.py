"""What an error means: the one table. A runner's own `errors` may hold rows of all four kinds.

::

    "code <name>"    an error code of a provider, as `error.code` or in its answer's body
    "http <status>"  an HTTP status, or "http 4xx", "http 5xx" for the rest of a hundred
    "text <words>"   words in the message of a `RuntimeError`: CUDA has no classes for its errors
    "<dotted.name>"  an exception's class or base class; a row for torch needs no torch

``python -m gpu_worker.error_table`` prints it as the page `docs/how-to/handle-errors.md` shows it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Final

from gpu_worker.runner import Verdict
from taskgate.errors import BadSetting
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

INVALID: Final = Verdict(ErrorCode.INVALID_INPUT, ErrorClass.PERMANENT)
REJECTED: Final = Verdict(ErrorCode.CONTENT_REJECTED, ErrorClass.PERMANENT)
REFUSED: Final = Verdict(ErrorCode.UPSTREAM_ERROR, ErrorClass.PERMANENT)
"""Our key or our call is wrong: no other try of ours will be let in."""
QUOTA: Final = Verdict(ErrorCode.QUOTA_EXHAUSTED, ErrorClass.PERMANENT)
"""Money, not time, makes it work again; then the owner may retry the task."""
UPSTREAM: Final = Verdict(ErrorCode.UPSTREAM_ERROR, ErrorClass.TRANSIENT)
OUT_OF_MEMORY: Final = Verdict(ErrorCode.OUT_OF_MEMORY, ErrorClass.TRANSIENT, restart=True)
"""Memory that a failed allocation left behind makes even small tasks fail, so the child goes."""
BROKEN_GPU: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.TRANSIENT, restart=True)
BAD_OUTPUT: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.PERMANENT)
UNKNOWN: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.TRANSIENT)

_KEY: Final = re.compile(
    r"code \S+|http ([1-5]\d\d|[1-5]xx)|text \S.*|[A-Za-z_]\w*(\.[A-Za-z_<][\w<>]*)+"
)


def _rows(verdict: Verdict, kind: str, names: str) -> dict[str, Verdict]:
    return dict.fromkeys((f"{kind} {name}".strip() for name in names.split()), verdict)


ERRORS: Final[dict[str, Verdict]] = {
    **_rows(
        INVALID,
        "code",
        "context_length_exceeded string_above_max_length invalid_prompt invalid_image"
        " image_too_large request_too_large invalid_request_error not_found_error"
        " ValidationException INVALID_ARGUMENT",
    ),
    **_rows(
        REJECTED,
        "code",
        "content_policy_violation content_filter moderation_blocked image_content_policy_violation",
    ),
    **_rows(
        QUOTA,
        "code",
        "insufficient_quota billing_hard_limit_reached billing_not_active billing_error"
        " ServiceQuotaExceededException",
    ),
    **_rows(
        REFUSED,
        "code",
        "invalid_api_key authentication_error permission_error AccessDeniedException"
        " UnrecognizedClientException PERMISSION_DENIED UNAUTHENTICATED",
    ),
    **_rows(
        UPSTREAM,
        "code",
        "rate_limit_exceeded rate_limit_error overloaded_error server_error api_error"
        " timeout_error engine_overloaded ThrottlingException ServiceUnavailableException"
        " ModelNotReadyException RESOURCE_EXHAUSTED UNAVAILABLE DEADLINE_EXCEEDED",
    ),
    **_rows(INVALID, "http", "400 404 410 413 414 415 422"),
    **_rows(REFUSED, "http", "401 403"),
    **_rows(QUOTA, "http", "402"),
    **_rows(REJECTED, "http", "451"),
    **_rows(UPSTREAM, "http", "408 409 425 429 5xx"),
    **_rows(REFUSED, "http", "3xx 4xx"),
    "text out of memory": OUT_OF_MEMORY,
    "text CUBLAS_STATUS_ALLOC_FAILED": OUT_OF_MEMORY,
    "text cudaErrorMemoryAllocation": OUT_OF_MEMORY,
    "text hipErrorOutOfMemory": OUT_OF_MEMORY,
    "text can't allocate memory": OUT_OF_MEMORY,
    "text CUDA error": BROKEN_GPU,
    "text HIP error": BROKEN_GPU,
    "text CUBLAS_STATUS": BROKEN_GPU,
    "text CUDNN_STATUS": BROKEN_GPU,
    "text NCCL error": BROKEN_GPU,
    **_rows(
        OUT_OF_MEMORY,
        "",
        "builtins.MemoryError torch.OutOfMemoryError torch.cuda.OutOfMemoryError",
    ),
    "torch.AcceleratorError": BROKEN_GPU,
    **_rows(
        UPSTREAM,
        "",
        "builtins.ConnectionError builtins.TimeoutError httpx.TransportError"
        " requests.exceptions.ConnectionError requests.exceptions.Timeout"
        " urllib3.exceptions.HTTPError urllib.error.URLError aiohttp.ClientConnectionError"
        " botocore.exceptions.HTTPClientError botocore.exceptions.ConnectionError",
    ),
    "gpu_worker.output.BadOutput": BAD_OUTPUT,
}


def check(rows: Mapping[str, Verdict]) -> None:
    """Raise `BadSetting` for a key that could never match anything."""
    for key in rows:
        if not _KEY.fullmatch(key):
            raise BadSetting("errors", key, "'code …', 'http …', 'text …' or a dotted class name")


def as_markdown() -> str:
    """The table for the page, the rows of one meaning together."""
    lines = ["| what was seen | `error.code` | tried again | child replaced |", "|---|---|---|---|"]
    for verdict, keys in _by_verdict().items():
        again = "yes" if verdict.error_class is ErrorClass.TRANSIENT else "no"
        seen = ", ".join(f"`{key}`" for key in keys) or "anything else"
        lines.append(
            f"| {seen} | `{verdict.code}` | {again} | {'yes' if verdict.restart else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def _by_verdict() -> dict[Verdict, list[str]]:
    groups: dict[Verdict, list[str]] = {}
    for key, verdict in ERRORS.items():
        groups.setdefault(verdict, []).append(key)
    return groups | {UNKNOWN: []}


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
