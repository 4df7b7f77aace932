"""How a setting stands in the environment: `TASKGATE_<FIELD>`, written and read by the same rules."""

from __future__ import annotations

import json
from collections.abc import Mapping

from taskgate.errors import BadSetting


def name_of(name: str) -> str:
    return f"TASKGATE_{name.upper()}"


def write(value: str | int | tuple[int, ...] | Mapping[str, str]) -> str:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), sort_keys=True)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def text(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name_of(name), "")
    if not value:
        raise BadSetting(name_of(name), value, "a non-empty text")
    return value


def whole(environ: Mapping[str, str], name: str) -> int:
    value = text(environ, name)
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise BadSetting(name_of(name), value, "a whole number above 0")
    return int(value)


def wholes(environ: Mapping[str, str], name: str) -> tuple[int, ...]:
    value = text(environ, name)
    parts = value.split(",")
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise BadSetting(name_of(name), value, "whole numbers above 0, with commas between")
    return tuple(map(int, parts))


def mapping(environ: Mapping[str, str], name: str) -> Mapping[str, str]:
    value = text(environ, name)
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(v, str) for v in parsed.values()):
        raise BadSetting(name_of(name), value, "a JSON object of texts")
    return parsed
