"""What a task brought."""

from __future__ import annotations

from typing import Final

from functions.http.shapes import (
    ID,
    TEXT,
    TIME,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    or_null,
)

RESULT_FILE: Final[Schema] = {
    "name": TEXT,
    "size": described(WHOLE, "Bytes."),
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "content_type": TEXT,
}
RESULT: Final[Schema] = {
    "id": ID,
    "files": list_of(object_of({**RESULT_FILE, "url": described(TEXT, "Signed; needs no key.")})),
    "output": {"description": "The runner's small output, any JSON value."},
    "expires_at": described(or_null(TIME), "The links are good until then; null without files."),
}
SCHEMAS: Final[dict[str, Schema]] = {
    "ResultFile": object_of(RESULT_FILE),
    "Result": object_of(RESULT),
}
