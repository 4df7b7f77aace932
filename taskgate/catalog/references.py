"""Files that an input refers to: of another task's result, or uploaded beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, get_args

from pydantic import BaseModel, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from taskgate.catalog.tasktype import FileRef, TaskInput
from taskgate.uploads import UPLOAD_ID

MIB: Final = 1024 * 1024
Place = tuple[str | int, ...]
"""Where in an input something stands."""


class UploadRef(TaskInput):
    """An upload of yours. A subclass says what it takes; the JSON Schema shows that."""

    content_types: ClassVar[tuple[str, ...]] = ()
    max_bytes: ClassVar[int] = 0

    upload: Annotated[str, Field(pattern=f"^{UPLOAD_ID.pattern}$")]

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        made = handler(core_schema)
        schema = handler.resolve_ref_schema(made)
        schema["description"] = (
            f"An upload of yours (`POST /v1/uploads`): {', '.join(cls.content_types)};"
            f" at most {cls.max_bytes} bytes."
        )
        schema["x-content-types"], schema["x-max-bytes"] = list(cls.content_types), cls.max_bytes
        return made


def references(value: object, place: Place = ()) -> Iterator[tuple[Place, FileRef | UploadRef]]:
    """Every reference in a validated input, with its place."""
    if isinstance(value, FileRef | UploadRef):
        yield place, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from references(getattr(value, name), (*place, name))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from references(inner, (*place, key))
    elif isinstance(value, list | tuple):
        for n, inner in enumerate(value):
            yield from references(inner, (*place, n))


def upload_kinds(annotation: Any) -> Iterator[type[UploadRef]]:
    """The kinds of upload that an input model, or a field of one, may refer to."""
    if isinstance(annotation, type) and issubclass(annotation, UploadRef):
        yield annotation
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from upload_kinds(field.annotation)
    for inner in get_args(annotation):
        yield from upload_kinds(inner)
