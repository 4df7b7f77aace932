"""Answers: JSON, problems, redirects and "not modified", as Powertools responses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from aws_lambda_powertools.event_handler import Response

JSON: Final = "application/json"


def text_of(body: object) -> str:
    """Strict JSON in ASCII, so that no text in it can fail to be encoded on the way out."""
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def answer(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response[str]:
    """A JSON answer. It is the caller's own: no shared cache may keep it."""
    return Response(
        status_code=status,
        content_type=JSON,
        body=text_of(body),
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def tagged(text: str, if_none_match: str | None, headers: Mapping[str, str]) -> Response[str]:
    """The JSON text with its ETag; 304 without a body when the caller holds it already."""
    tag = tag_of(text)
    known = if_none_match is not None and matches(if_none_match, tag)
    return Response(
        status_code=304 if known else 200,
        content_type=None if known else JSON,
        body="" if known else text,
        headers={"ETag": tag, **headers},
    )


def redirect(url: str) -> Response[str]:
    """To a signed URL, which must not outlive its own time in a cache."""
    headers = {"Location": url, "Cache-Control": "no-store"}
    return Response(status_code=302, content_type=None, body="", headers=headers)


def tag_of(text: str) -> str:
    """The ETag of an answer."""
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def matches(header: str, tag: str) -> bool:
    """Whether `If-None-Match` holds the tag."""
    known = [candidate.strip().removeprefix("W/") for candidate in header.split(",")]
    return "*" in known or tag in known
