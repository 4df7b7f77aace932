"""The door of the rooms behind the HTTP API: with an edge in front, only what it passes on gets in."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from functions.http.answers import JSON, text_of

HEADER: Final = "x-taskgate-edge"
"""CloudFront sets it, whatever the caller wrote there. The stack spells it too (`cdk_app.edge`)."""
VARIABLE: Final = "TASKGATE_EDGE_KEYS"
CODE: Final = "not_by_the_edge"


class Door:
    """Knows the keys of the edge; without any it stands open."""

    def __init__(self, keys: tuple[str, ...] = ()) -> None:
        self._keys = tuple(key.encode() for key in keys)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Door:
        """From the environment. The variable is there exactly when the stage has CloudFront."""
        text = environ.get(VARIABLE)
        return cls() if text is None else cls(tuple(text.split(",")))

    def admits(self, event: Mapping[str, Any]) -> bool:
        """Whether the request came by the edge. Time tells nothing of how near a wrong key was."""
        if not self._keys:
            return True
        given = str((event.get("headers") or {}).get(HEADER, "")).encode()
        return bool(given) and any(hmac.compare_digest(given, key) for key in self._keys)


def closed() -> dict[str, Any]:
    """What AWS itself answers at an address that is closed."""
    return {
        "statusCode": 403,
        "headers": {"Content-Type": JSON, "Cache-Control": "no-store"},
        "body": text_of({"message": "Forbidden"}),
        "isBase64Encoded": False,
        "cookies": [],
    }
