"""What a run hands over must be storable: strict JSON, whole characters, bounded."""

from __future__ import annotations

import json
from typing import Any

from taskgate.lifecycle.history import cap_bytes
from taskgate.lifecycle.transitions import MAX_OUTPUT


class BadOutput(Exception):
    """What the run returned cannot be kept; a fault of the runner, so another try is no help."""


class NotANumber(Exception):
    """The output holds NaN or an infinity."""


def to_json(output: object) -> str | None:
    """The output as JSON text; None stays None."""
    if output is None:
        return None
    if not isinstance(output, dict):
        raise BadOutput(f"run returned {type(output).__name__}; it must return a dict or None")
    text = _strict(output)
    size = len(text.encode("utf-8"))
    if size > MAX_OUTPUT:
        raise BadOutput(f"the output is {size} bytes, at most {MAX_OUTPUT}; use ctx.file for more")
    return text


def storable(text: str, limit: int) -> str:
    """The text without lone surrogates, which no store takes, and of at most `limit` bytes."""
    return cap_bytes(text.encode("utf-8", "replace").decode("utf-8"), limit)


def _strict(output: dict[str, Any]) -> str:
    try:
        text = json.dumps(output, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadOutput("the output holds a lone surrogate") from None
    except ValueError as error:
        raise (NotANumber if "float" in str(error) else BadOutput)(str(error)) from None
    except (TypeError, RecursionError) as error:
        raise BadOutput(f"the output is not JSON: {error}") from None
    return text
