"""Uploads: a signed form for one file, which goes to the bucket and never through the API."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from pydantic import ConfigDict, Field

from functions.api.desk import Desk
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.body import Body
from functions.http.times import when
from taskgate.catalog import CATALOG
from taskgate.gateway.door import uploading
from taskgate.results import Stored
from taskgate.settings import MOST_UPLOAD_BYTES

MAX_NAME: Final = 128


class UploadBody(Body):
    """What `POST /v1/uploads` takes: what the file is, before any of it is sent."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"content_type": "application/pdf", "bytes": 482113, "name": "handbook.pdf"}
            ]
        }
    )

    content_type: Annotated[
        str,
        Field(
            max_length=100,
            json_schema_extra={"enum": sorted(CATALOG.uploads)},
            description="What some task type takes as an upload, or JSON for a whole input.",
        ),
    ]
    bytes: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_UPLOAD_BYTES,
            description="The file's size, to the byte; at most what a task type takes of this"
            " content type, and what your plan allows.",
        ),
    ]
    sha256: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9a-f]{64}$",
            description="Of the file, in hex. No other bytes are taken then.",
        ),
    ] = None
    name: Annotated[
        str | None,
        Field(min_length=1, max_length=MAX_NAME, description="The file's name, for people."),
    ] = None

    @property
    def terms(self) -> Stored:
        return Stored(
            size=self.bytes,
            content_type=self.content_type,
            sha256=self.sha256 or "",
            name=self.name or "",
        )


def begin(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/uploads`: 201 with the form that the file is to be posted by."""
    asked.query()
    terms = UploadBody.of(asked.body()).terms
    upload = uploading.begin(
        desk.ports, desk.catalog, desk.room.environment, asked.principal, terms
    )
    body = {
        "id": upload.id,
        "url": upload.form.url,
        "fields": dict(upload.form.fields),
        "expires_at": when(upload.expires_at),
        "kept_until": when(upload.kept_until),
    }
    return answer(body, 201)
