"""Strict JSON at the door: what gets in is exactly what was sent, or it is refused.

Python's parser takes NaN, forgets duplicate keys, rounds numbers, lets lone surrogates through
(which no queue, table or UTF-8 file takes) and dies of deep nesting. None of it passes here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any, Final, NoReturn

from taskgate.errors import (
    BodyTooLarge,
    DuplicateKey,
    EmptyBody,
    FieldProblem,
    InexactNumber,
    LoneSurrogate,
    MalformedJson,
    NestedTooDeep,
    NotAnObject,
)

MAX_BODY_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 32
MAX_NUMBER_CHARS: Final = 64
_EXACT: Final = Context(prec=1200)
"""More digits than any double has."""
_STRUCTURE: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse(raw: bytes) -> Mapping[str, Any]:
    """The JSON object that the body is, or the `Problem` that says what is wrong and where."""
    if len(raw) > MAX_BODY_BYTES:
        raise too_large()
    text = _text(raw)
    _depth_within_bounds(text)
    body = _loaded(text)
    if not isinstance(body, dict):
        raise NotAnObject
    _exact(body)
    return body


def too_large() -> BodyTooLarge:
    """The problem that names the bound."""
    return BodyTooLarge(f"The body is over the limit of {MAX_BODY_BYTES} bytes.")


class _Inexact:
    """Stands where a number stood that would not have arrived as it was sent."""


def _text(raw: bytes) -> str:
    if not raw.strip():
        raise EmptyBody
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8: byte {error.start}.") from None


def _depth_within_bounds(text: str) -> None:
    """Before parsing: the parser recurses, so a depth bomb must not reach it."""
    depth = 0
    for token in _STRUCTURE.finditer(text):
        mark = token[0]
        depth += (mark in "[{") - (mark in "]}") if len(mark) == 1 else 0
        if depth > MAX_DEPTH:
            raise NestedTooDeep(f"The body nests deeper than {MAX_DEPTH} levels.")


def _loaded(text: str) -> object:
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_int=_whole,
            parse_float=_real,
            parse_constant=_not_json,
        )
    except ValueError as error:
        raise MalformedJson(f"The body is not JSON: {error}.") from None


def _without_duplicates(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKey(fields=[FieldProblem(key, "stands here more than once")])
        found[key] = value
    return found


def _whole(text: str) -> int | _Inexact:
    return int(text) if len(text) <= MAX_NUMBER_CHARS else _Inexact()


def _real(text: str) -> float | _Inexact:
    """The double, if what was sent is that double correctly rounded, to however many digits."""
    value = float(text)
    if len(text) > MAX_NUMBER_CHARS or not math.isfinite(value):
        return _Inexact()
    if value == 0:
        mantissa = text.lower().partition("e")[0]
        return _Inexact() if re.search("[1-9]", mantissa) else value
    given = Decimal(text)
    unit = Decimal(1).scaleb(int(given.as_tuple().exponent), _EXACT)
    off = _EXACT.abs(_EXACT.subtract(Decimal(value), given))
    return value if _EXACT.add(off, off) <= unit else _Inexact()


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value")


def _exact(body: Mapping[str, object]) -> None:
    for path, value in _leaves(body):
        if isinstance(value, _Inexact):
            raise InexactNumber(fields=[FieldProblem(path, "would not arrive as it was sent")])
        if isinstance(value, str) and _SURROGATE.search(value):
            raise LoneSurrogate(fields=[FieldProblem(path, "holds half of a surrogate pair")])


def _leaves(body: object) -> Iterator[tuple[str, object]]:
    """Every key and every plain value with its path, without recursion."""
    todo: list[tuple[str, object]] = [("", body)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            yield from ((f"{path}.{key}".lstrip("."), key) for key in value)
            todo.extend((f"{path}.{key}".lstrip("."), inner) for key, inner in value.items())
        elif isinstance(value, list):
            todo.extend((f"{path}.{n}", inner) for n, inner in enumerate(value))
        else:
            yield path, value
