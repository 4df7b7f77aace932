"""Reading a JSON text that was stored, so that whatever comes of it can be written as strict JSON.

What we store is strict. A text of long ago, or of a worker that is not ours, may not be.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def loaded(text: str) -> Any:
    """The value; what JSON cannot say is null, and half of a surrogate pair is U+FFFD."""
    value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    return _whole(value) if _HALF.search(text) else value


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _whole(value: Any) -> Any:
    written = json.dumps(value, ensure_ascii=False)
    return json.loads(written.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
