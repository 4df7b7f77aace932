"""What an exception of any HTTP library tells about the answer behind it, read by its shape alone.

No library is imported: httpx, requests, aiohttp, urllib, botocore, openai and their like all keep
status, headers and error code in one of a few places. A property that raises counts as absent.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

STATUSES: Final = range(300, 600)
MAX_BODY: Final = 64 * 1024
LONGEST_RETRY_AFTER: Final = 7 * 24 * 3600.0


def status_of(error: BaseException) -> int | None:
    """The HTTP status of the answer, when it was not a success."""
    answer = _get(error, "response")
    found = (
        *(_get(error, name) for name in ("status_code", "status", "code")),
        *(_get(answer, name) for name in ("status_code", "status")),
        _at(answer, "ResponseMetadata", "HTTPStatusCode"),
    )
    return next((int(s) for s in found if isinstance(s, int) and s in STATUSES), None)


def codes_of(error: BaseException) -> Iterator[str]:
    """The provider's error codes, as exact as it gave them."""
    answer = _get(error, "response")
    yield from _texts(_get(error, "code"), _get(error, "error_code"), _at(answer, "Error", "Code"))
    for body in (_get(error, "body"), _stored_body(answer)):
        yield from _texts(_at(body, "error", "code"), _at(body, "code"), _at(body, "error"))


def types_of(error: BaseException) -> Iterator[str]:
    """The kinds that the provider sorts its codes under; coarser than the status."""
    body = _get(error, "body")
    stored = _stored_body(_get(error, "response"))
    yield from _texts(
        _get(error, "type"), *(_at(b, "error", "type") for b in (body, stored)), _at(body, "type")
    )


def retry_after_of(error: BaseException) -> float | None:
    """Seconds that the upstream asked us to wait, from `Retry-After` as seconds or as a date."""
    answer = _get(error, "response")
    for source in (_get(error, "headers"), _get(answer, "headers"),
                   _at(answer, "ResponseMetadata", "HTTPHeaders")):  # fmt: skip
        headers = _lower(source)
        if (exact := _number(headers.get("retry-after-ms"))) is not None:
            return _bounded(exact / 1000)
        if (value := headers.get("retry-after")) is not None:
            return _bounded(_seconds(value, headers.get("date")))
    return _bounded(_number(_get(error, "retry_after")))


def _seconds(value: str, answered_at: str | None) -> float | None:
    number = _number(value)
    if number is not None:
        return number
    until, since = _moment(value), _moment(answered_at)
    if until is None:
        return None
    # The upstream's own clock where it says what that is: ours may differ.
    return until - (time.time() if since is None else since)


def _bounded(seconds: float | None) -> float | None:
    if seconds is None or not math.isfinite(seconds):
        return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)


def _moment(text: str | None) -> float | None:
    try:
        found = email.utils.parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or dt.UTC).timestamp()


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _lower(headers: object) -> dict[str, str]:
    try:
        pairs = list(headers.items())  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001  no mapping, whatever it is
        return {}
    return {str(name).lower(): str(value) for name, value in pairs}


def _stored_body(answer: object) -> Any:
    """The body as far as the library has read it already; asking for it could block."""
    content = _get(answer, "_content")
    if not isinstance(content, bytes) or len(content) > MAX_BODY:
        return None
    try:
        return json.loads(content)
    except ValueError:
        return None


def _texts(*found: object) -> Iterator[str]:
    return (text for text in found if isinstance(text, str) and text)


def _at(value: object, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _get(thing: object, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  a stranger's property may do anything
        return None
