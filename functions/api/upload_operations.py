"""Uploads as their caller should understand them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import JSON_BODY, Answered, Operation
from functions.http.shapes import TEXT, TIME, Schema, described
from taskgate import errors
from taskgate.uploads import UPLOAD_ID

UPLOAD_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": f"^{UPLOAD_ID.pattern}$"}
UPLOAD: Final[Schema] = {
    "id": described(UPLOAD_ID_SCHEMA, "What an input refers to."),
    "url": described(TEXT, "Post the form here; no key is needed, and none must be sent."),
    "fields": {
        "type": "object",
        "additionalProperties": TEXT,
        "description": "Every field of the form, as it is; the file comes last, as `file`.",
    },
    "expires_at": described(TIME, "The form is good until then."),
    "kept_until": described(TIME, "The file is kept at least until then."),
}
UPLOADS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/uploads"): Operation(
        name="beginUpload",
        scope="tasks:write",
        summary="A form to upload a file by, for inputs that refer to files",
        about="Post the file to `url` as `multipart/form-data`: all of `fields` first, then the file"
        " as `file`. The bucket takes exactly the file that was announced. Then refer to it: as"
        ' `{"upload": id}` where a task type takes an upload, or as `{"$upload": id}` in the place of'
        " a whole input, for one in JSON that is too large to be sent. Only you can refer to it.",
        body="UploadTerms",
        answers={201: Answered("The form.", "Upload")},
        refuses=(*JSON_BODY, errors.RateLimited, errors.MissingScope),
    ),
}
