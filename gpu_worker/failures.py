"""From an exception to what it means: one table, by dotted class name, that users may extend.

Names, not classes: a row for ``torch.OutOfMemoryError`` needs no torch. The rows of the runner's own
``errors`` come first; within a table the exception's nearest base class wins.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Final

from gpu_worker.output import storable
from gpu_worker.protocol import Failed
from gpu_worker.runner import Permanent, Transient, Verdict
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

MAX_MESSAGE: Final = 500
MAX_DETAILS: Final = 3500
SHOWN_FRAMES: Final = 20

OUT_OF_MEMORY: Final = Verdict(ErrorCode.OUT_OF_MEMORY, ErrorClass.TRANSIENT, restart=True)
"""Memory that a failed allocation left behind makes even small tasks fail, so the child goes."""
UPSTREAM: Final = Verdict(ErrorCode.UPSTREAM_ERROR, ErrorClass.TRANSIENT)
UNKNOWN: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.TRANSIENT)
BROKEN_GPU: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.TRANSIENT, restart=True)
BAD_OUTPUT: Final = Verdict(ErrorCode.MODEL_ERROR, ErrorClass.PERMANENT)

ERRORS: Final[dict[str, Verdict]] = {
    "builtins.MemoryError": OUT_OF_MEMORY,
    "torch.OutOfMemoryError": OUT_OF_MEMORY,
    "torch.cuda.OutOfMemoryError": OUT_OF_MEMORY,
    "torch.AcceleratorError": BROKEN_GPU,
    "builtins.ConnectionError": UPSTREAM,
    "builtins.TimeoutError": UPSTREAM,
    "httpx.TransportError": UPSTREAM,
    "requests.exceptions.ConnectionError": UPSTREAM,
    "requests.exceptions.Timeout": UPSTREAM,
    "urllib3.exceptions.HTTPError": UPSTREAM,
    "gpu_worker.output.BadOutput": BAD_OUTPUT,
}


def judge(error: BaseException, own: Mapping[str, Verdict] | None = None) -> Verdict:
    """The verdict on an exception; `own` are the runner's rows."""
    if isinstance(error, Permanent):
        return Verdict(error.code, ErrorClass.PERMANENT)
    if isinstance(error, Transient):
        return Verdict(error.code, ErrorClass.TRANSIENT)
    return _row(error, own or {}) or _row(error, ERRORS) or UNKNOWN


def failed(number: int, error: BaseException, verdict: Verdict) -> Failed:
    """The word for the supervisor, with its texts capped whatever the exception holds."""
    return Failed(
        number=number,
        code=verdict.code.value,
        error_class=verdict.error_class.value,
        message=storable(_message(error), MAX_MESSAGE),
        details=_details(error),
        retry_after=error.retry_after if isinstance(error, Transient) else None,
        restart=verdict.restart,
    )


def _row(error: BaseException, table: Mapping[str, Verdict]) -> Verdict | None:
    names = (f"{c.__module__}.{c.__qualname__}" for c in type(error).__mro__)
    return next((table[name] for name in names if name in table), None)


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  a model's own __str__ may do anything
        text = "(its text cannot be read)"
    if isinstance(error, Permanent | Transient):
        return text
    return f"{type(error).__name__}: {text}"


def _details(error: BaseException) -> str:
    """The end of the traceback: the innermost frames say most."""
    frames = traceback.extract_tb(error.__traceback__)[-SHOWN_FRAMES:]
    text = "".join(traceback.format_list(frames)).encode("utf-8", "replace")
    return text[-MAX_DETAILS:].decode("utf-8", "ignore")
