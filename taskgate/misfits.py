"""What does not fit a model, field by field: each with its bound, and with the name that was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from taskgate.errors import FieldProblem
from taskgate.nearest import did_you_mean, in_words

Place = tuple[str | int, ...]
MOST_HINTS: Final = 20
"""So many wrong fields are told of in an answer; no time goes into hints for the others."""
EMPTY: Final = "must not be empty"
TOLD: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be a list",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "too_long": "must have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "value_error": "{error}",
    "assertion_error": "{error}",
}
"""By pydantic's kinds of error; of any other kind its own words are kept."""
_CHOICE: Final = re.compile(r"'([^']*)'")


def misfits(
    error: ValidationError, model: type[BaseModel], before: Place = ()
) -> list[FieldProblem]:
    """Each field that is wrong. `before` is where the model's value stands in the request."""
    return [
        FieldProblem(
            ".".join(map(str, (*before, *found["loc"]))),
            _told(found) + (_hint(found, model) if n < MOST_HINTS else ""),
        )
        for n, found in enumerate(error.errors(include_url=False))
    ]


def fields_at(model: type[BaseModel], place: Place) -> list[str]:
    """The fields that a value at this place within the model may have."""
    models = {model}
    for part in place:
        at_part = [m.model_fields[part] for m in models if part in m.model_fields]
        # Any other part is the number of an item, or a key of the caller's own.
        models = {m for field in at_part for m in _models(field.annotation)} if at_part else models
    return sorted(field.alias or name for m in models for name, field in m.model_fields.items())


def _told(found: Mapping[str, Any]) -> str:
    bounds = found.get("ctx", {})
    if bounds.get("min_length") == 1:
        return EMPTY
    template = TOLD.get(found["type"])
    return str(found["msg"]) if template is None else template.format_map(bounds)


def _hint(found: Mapping[str, Any], model: type[BaseModel]) -> str:
    place = found["loc"]
    if found["type"] == "extra_forbidden":
        known = fields_at(model, place[:-1])
        return did_you_mean(place[-1], known) or (known and f"; known are {in_words(known)}") or ""
    if found["type"] == "literal_error":
        return did_you_mean(found["input"], _CHOICE.findall(found["ctx"]["expected"]))
    return ""


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models within an annotation, such as one that may be null, or a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
