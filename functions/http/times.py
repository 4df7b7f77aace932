"""Times as a caller writes them: RFC 3339, with an offset or Z."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from taskgate.gateway.announcing import EPOCH, rfc3339

_FORM: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
FORM: Final = "must be a time like 2026-07-01T09:00:00Z or 2026-07-01T09:00:00+02:00"


def moment(text: str) -> int:
    """Epoch ms; `ValueError` for anything else than an instant that RFC 3339 can name."""
    if not _FORM.fullmatch(text):
        raise ValueError(FORM)
    try:
        at = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValueError(FORM) from None
    return (at - EPOCH) // timedelta(milliseconds=1)


def when(at: int | None) -> str | None:
    """Epoch ms as RFC 3339, UTC, to the millisecond."""
    return None if at is None else rfc3339(at)
