"""Signed upload forms: S3 takes exactly the object that the form was made for, or nothing."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from taskgate.results import Stored

_SHA256: Final = "sha256"
_NAME: Final = "name"


def fields_of(terms: Stored) -> dict[str, str]:
    """The form's fields beside the key and the signature; every one is held to its very value."""
    # Whoever gets to see the object gets it as a file to save, and never as a page to open.
    fields = {"Content-Type": terms.content_type, "Content-Disposition": "attachment"}
    if terms.sha256:
        digest = base64.b64encode(bytes.fromhex(terms.sha256)).decode()
        fields |= {
            "x-amz-meta-sha256": terms.sha256,
            # S3 itself refuses other bytes.
            "x-amz-checksum-algorithm": "SHA256",
            "x-amz-checksum-sha256": digest,
        }
    if terms.name:
        fields["x-amz-meta-name"] = quote(terms.name)
    return fields


def conditions_of(terms: Stored, fields: Mapping[str, str]) -> list[Any]:
    """The policy: the size to the byte, and every field as it is."""
    return [
        ["content-length-range", terms.size, terms.size],
        *({name: value} for name, value in fields.items()),
    ]


def stored_of(answer: Mapping[str, Any]) -> Stored:
    """What an object says of itself, from the headers of S3's answer."""
    metadata = answer.get("Metadata", {})
    return Stored(
        size=int(answer["ContentLength"]),
        content_type=str(answer.get("ContentType", "")),
        sha256=str(metadata.get(_SHA256, "")),
        name=unquote(str(metadata.get(_NAME, ""))),
    )
