"""The parts that JSON Schemas are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from taskgate.gateway.views.reading import TASK_ID

Schema = dict[str, Any]
REFERENCE: Final = "#/components/schemas/{model}"


def ref(name: str) -> Schema:
    """A reference to a schema of this document."""
    return {"$ref": REFERENCE.format(model=name)}


def object_of(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def one_of(values: Iterable[str]) -> Schema:
    """One of these words, in the order in which they are told."""
    return {"type": "string", "enum": [str(value) for value in values]}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def bodies_of(models: Mapping[str, type[BaseModel]]) -> dict[str, Schema]:
    """The schemas of bodies by name."""
    return {name: model.model_json_schema(ref_template=REFERENCE) for name, model in models.items()}


TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
SECONDS: Final[Schema] = {"type": "number", "minimum": 0, "description": "Seconds."}
TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
}
ID: Final[Schema] = {"type": "string", "pattern": f"^{TASK_ID.pattern}$"}
NEXT: Final = described(or_null(TEXT), "The cursor of the next page; null on the last.")
