"""The input of a task: checked against its type's model, and kept as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from taskgate.catalog import TaskType
from taskgate.errors import FieldProblem, InvalidInput
from taskgate.misfits import misfits
from taskgate.uploads import UPLOAD_ID, WHOLE, whole_text

MAX_INPUT_BYTES: Final = 96 * 1024
"""Of the input as JSON: room for a 64 KiB text and its escapes (docs/decisions/0004)."""
MAX_TEXT_BYTES: Final = 64 * 1024


def checked_input(kind: TaskType, given: Mapping[str, Any]) -> str:
    """The validated input as JSON text, every number as it was given; or `InvalidInput`."""
    try:
        model = kind.input_model.model_validate(dict(given))
    except ValidationError as error:
        raise InvalidInput(fields=misfits(error, kind.input_model, ("input",))) from None
    values = model.model_dump(mode="json")
    for name, value in values.items():
        _text_fits(f"input.{name}", value)
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > MAX_INPUT_BYTES:
        raise InvalidInput(
            fields=[FieldProblem("input", f"at most {MAX_INPUT_BYTES} bytes as JSON")]
        )
    return text


def input_text(kind: TaskType, given: Mapping[str, Any]) -> str:
    """What stands on record as the input: itself, or which upload it is."""
    if set(given) != {WHOLE}:
        return checked_input(kind, given)
    upload_id = given[WHOLE]
    if not (isinstance(upload_id, str) and UPLOAD_ID.fullmatch(upload_id)):
        raise InvalidInput(fields=[FieldProblem(f"input.{WHOLE}", "must be upload_ and a ULID")])
    return whole_text(upload_id)


def _text_fits(name: str, value: object) -> None:
    if name == "input.content_base64":
        return
    if isinstance(value, str) and len(value.encode()) > MAX_TEXT_BYTES:
        raise InvalidInput(fields=[FieldProblem(name, f"at most {MAX_TEXT_BYTES} bytes of UTF-8")])
