"""From an exception to what it means, by the table of `gpu_worker.error_table`.

The runner's own rows come first. Within a table the most telling sign wins: the provider's code, the
HTTP status, words of the message, then the exception's nearest class. An error that no row knows is
judged by the error that caused it (``raise … from``).
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import Final

from gpu_worker.error_table import ERRORS, UNKNOWN
from gpu_worker.output import storable
from gpu_worker.protocol import Failed
from gpu_worker.runner import Permanent, Transient, Verdict
from gpu_worker.upstream import codes_of, retry_after_of, status_of, types_of
from taskgate.lifecycle.retry import ErrorClass

MAX_MESSAGE: Final = 500
MAX_DETAILS: Final = 3500
SHOWN_FRAMES: Final = 20
CAUSES: Final = 5


def judge(error: BaseException, own: Mapping[str, Verdict] | None = None) -> Verdict:
    """The verdict on an exception; `own` are the runner's rows."""
    if isinstance(error, Permanent):
        return Verdict(error.code, ErrorClass.PERMANENT)
    if isinstance(error, Transient):
        return Verdict(error.code, ErrorClass.TRANSIENT)
    found = (_row(e, own or {}) or _row(e, ERRORS) for e in _with_causes(error))
    return next((verdict for verdict in found if verdict), UNKNOWN)


def failed(number: int, error: BaseException, verdict: Verdict) -> Failed:
    """The word for the supervisor, with its texts capped whatever the exception holds."""
    return Failed(
        number=number,
        code=verdict.code,
        error_class=verdict.error_class,
        message=storable(_message(error), MAX_MESSAGE),
        details=_details(error),
        retry_after=_retry_after(error) if verdict.error_class is ErrorClass.TRANSIENT else None,
        restart=verdict.restart,
    )


def _row(error: BaseException, table: Mapping[str, Verdict]) -> Verdict | None:
    signs = (table[key] for key in _signs(error) if key in table)
    return next(signs, None) or _by_text(error, table) or _by_class(error, table)


def _signs(error: BaseException) -> Iterator[str]:
    status = status_of(error) if isinstance(error, Exception) else None
    yield from (f"code {code}" for code in codes_of(error))
    if status is not None:
        yield f"http {status}"
    yield from (f"code {kind}" for kind in types_of(error))
    if status is not None:
        yield f"http {status // 100}xx"


def _by_text(error: BaseException, table: Mapping[str, Verdict]) -> Verdict | None:
    if not isinstance(error, RuntimeError):
        return None
    said = _text(error).lower()
    rows = ((key[5:].lower(), table[key]) for key in table if key.startswith("text "))
    return next((verdict for words, verdict in rows if words in said), None)


def _by_class(error: BaseException, table: Mapping[str, Verdict]) -> Verdict | None:
    names = (f"{c.__module__}.{c.__qualname__}" for c in type(error).__mro__)
    return next((table[name] for name in names if name in table), None)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _retry_after(error: BaseException) -> float | None:
    if isinstance(error, Transient):
        return error.retry_after
    found = (retry_after_of(e) for e in _with_causes(error))
    return next((seconds for seconds in found if seconds is not None), None)


def _message(error: BaseException) -> str:
    if isinstance(error, Permanent | Transient):
        return _text(error)
    return f"{type(error).__name__}: {_text(error)}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a model's own __str__ may do anything
        return "(its text cannot be read)"


def _details(error: BaseException) -> str:
    """The end of the traceback: the innermost frames say most."""
    frames = traceback.extract_tb(error.__traceback__)[-SHOWN_FRAMES:]
    text = "".join(traceback.format_list(frames)).encode("utf-8", "replace")
    return text[-MAX_DETAILS:].decode("utf-8", "ignore")
