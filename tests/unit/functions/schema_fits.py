"""A small JSON Schema check: as much of it as the API's own document uses."""

from __future__ import annotations

import re
from typing import Any

from functions.api.openapi import document

DOCUMENT = document()
KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def assert_fits(value: Any, schema: dict[str, Any], path: str = "$") -> None:
    """Raise `AssertionError` with the path of the first value that does not fit."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        assert_fits(value, DOCUMENT["components"]["schemas"][name], path)
        return
    if "anyOf" in schema:
        assert any(_fits(value, one, path) for one in schema["anyOf"]), f"{path}: {value!r}"
    if "type" in schema:
        assert isinstance(value, KINDS[schema["type"]]), f"{path}: {value!r} is no {schema['type']}"
    assert value in schema.get("enum", [value]), f"{path}: {value!r} is not listed"
    if isinstance(value, str):
        assert re.search(schema.get("pattern", ""), value), f"{path}: {value!r} has another pattern"
    if isinstance(value, int | float):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), path
    if isinstance(value, list):
        for n, item in enumerate(value):
            assert_fits(item, schema.get("items", {}), f"{path}[{n}]")
    if isinstance(value, dict):
        _object_fits(value, schema, path)


def _object_fits(value: dict[str, Any], schema: dict[str, Any], path: str) -> None:
    missing = set(schema.get("required", ())) - value.keys()
    assert not missing, f"{path} lacks {missing}"
    known = schema.get("properties", {})
    for name, inner in value.items():
        other = schema.get("additionalProperties", {})
        assert name in known or other is not False, f"{path}.{name} is not in the schema"
        assert_fits(
            inner, known.get(name, other if isinstance(other, dict) else {}), f"{path}.{name}"
        )


def _fits(value: Any, schema: dict[str, Any], path: str) -> bool:
    try:
        assert_fits(value, schema, path)
    except AssertionError:
        return False
    return True
