"""Files to the bucket: announced to the gateway, then posted by the form that it signs."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Final

import httpx

from taskgate.client.answers import time_of
from taskgate.client.backoff import BUSY, LOST
from taskgate.client.errors import Unreachable, Unsendable, UploadRefused
from taskgate.client.models import Upload
from taskgate.client.transport import Transport, is_loopback

JSON: Final = "application/json"
MAX_NAME: Final = 128
TIMEOUT: Final = httpx.Timeout(connect=5.0, read=120.0, write=60.0, pool=5.0)
_KNOWN: Final[Mapping[str, str]] = {".md": "text/markdown", ".markdown": "text/markdown"}
Open = Callable[[], AbstractContextManager[BufferedReader | BytesIO]]


class Uploads:
    """Uploads, for inputs that refer to files."""

    _transport: Transport

    def upload(
        self,
        source: str | Path | bytes,
        *,
        content_type: str | None = None,
        name: str | None = None,
    ) -> Upload:
        """Put a file where only your tasks can read it, for some days.

        In an input, `upload.ref` stands for it. Its bytes go to the bucket, not through the
        gateway, with their SHA-256, so that no others can take their place.
        """
        if isinstance(source, bytes):
            return self._upload(lambda: BytesIO(source), content_type, name)
        path = Path(source)
        found = content_type or content_type_of(path)
        return self._upload(lambda: path.open("rb"), found, name or path.name)

    def upload_input(self, value: Mapping[str, Any]) -> Upload:
        """An input that is too large to be sent in a submit; `upload.whole` stands for it there."""
        try:
            text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
            raw = text.encode()
        except (ValueError, TypeError) as error:
            raise Unsendable(f"The input cannot be sent: {error}") from error
        return self.upload(raw, content_type=JSON)

    def _upload(self, opened: Open, content_type: str | None, name: str | None) -> Upload:
        if content_type is None:
            raise Unsendable("The content type is not known: say content_type.")
        with opened() as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.seek(0, os.SEEK_END)
        terms = {"content_type": content_type, "bytes": size, "sha256": digest}
        if name:
            terms["name"] = name[:MAX_NAME]
        form = self._transport.ask(_form_of, "POST", "/v1/uploads", body=terms)
        _post(self._transport, form, opened)
        return Upload(form.id, size, digest, content_type, time_of(form.kept_until))


def content_type_of(path: Path) -> str | None:
    """By the file's ending; None when it says nothing."""
    return _KNOWN.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]


@dataclass(frozen=True, slots=True)
class _Form:
    id: str
    url: str
    fields: Mapping[str, str]
    kept_until: object


def _form_of(body: Mapping[str, Any]) -> _Form:
    fields = {str(name): str(value) for name, value in body["fields"].items()}
    return _Form(str(body["id"]), str(body["url"]), fields, body.get("kept_until"))


def _post(transport: Transport, form: _Form, opened: Open) -> None:
    """The same file by the same form, until it is taken: a second time changes nothing."""
    tried = 0
    with httpx.Client(timeout=TIMEOUT, trust_env=not is_loopback(form.url)) as http:
        while True:
            tried += 1
            answer = _attempt(http, form, opened)
            if isinstance(answer, httpx.Response) and answer.status_code not in BUSY:
                return _require_taken(answer)
            delay = transport.backoff.delay(tried, None)
            if delay is None:
                said = answer if isinstance(answer, Exception) else f"HTTP {answer.status_code}"
                raise Unreachable(f"The file could not be uploaded in {tried} tries: {said}")
            transport.sleep(delay)


def _attempt(
    http: httpx.Client, form: _Form, opened: Open
) -> httpx.Response | httpx.TransportError:
    try:
        with opened() as file:
            # The fields come first: what follows the file is not looked at.
            return http.post(form.url, data=dict(form.fields), files={"file": ("file", file)})
    except LOST as error:
        return error
    except httpx.HTTPError as error:
        raise Unreachable(f"The file could not be uploaded: {error}") from error


def _require_taken(response: httpx.Response) -> None:
    if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        raise UploadRefused(response.status_code, response.text)
